"""Describe how every device turns a sensor's readings into x: [features.sensor]."""

import math
from typing import Annotated, Literal

import msgspec

from crowdml.protocol.features.sensors import SENSORS, SensorKind

GAP_SECONDS = 1.0
GAP_TICKS = 5
"""Readings further apart than either of these do not belong into one window."""

SUMMARY = ("mean", "standard deviation", "smallest", "largest")
"""The features that the transform `summary` makes."""


class Sensor(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Describe the pipeline from readings to samples.

    A reading is one number, in the unit that docs/tasks.md gives for the kind of sensor. Where
    numbers are typed in there are no readings: the participant enters those named in `fields`.

    Args:
        kind: Which of `SENSORS`.
        rate: Readings a second; a device that gets more or fewer takes the newest at each tick.
        window: Readings in a window. A window never spans two labels, nor a gap in the readings.
        transform: `spectrum`: absolute values of the first bins of the window's Fourier
            transform, divided by their sum. `amplitudes`: the same divided by `scale` instead.
            `summary`: those of `SUMMARY`, divided by `scale`.
            `values`: what was entered, divided by `scale`.
        first_bin: A weight for bin 0 of the spectrum, which for some sensors says little.
        scale: A fixed, public divisor.
        every: Seconds from one sample to the next, at least.
        trigger: `always`, or `label-change`: only when the label differs from the last sample's.
        fields: Names of the numbers to enter, where they are typed in.
    """

    kind: Annotated[str, msgspec.Meta(min_length=1, max_length=40, extra={"names": SENSORS})]
    rate: Annotated[float, msgspec.Meta(ge=0.01, le=1000)] = 20.0
    window: Annotated[int, msgspec.Meta(ge=1, le=4096)] = 64
    transform: Literal["amplitudes", "spectrum", "summary", "values"] = "spectrum"
    first_bin: Annotated[float, msgspec.Meta(ge=0, le=1)] = 1.0
    scale: Annotated[float, msgspec.Meta(ge=1e-9, le=1e9)] = 1.0
    every: Annotated[float, msgspec.Meta(ge=0, le=1e6)] = 30.0
    trigger: Literal["always", "label-change"] = "always"
    fields: Annotated[
        tuple[Annotated[str, msgspec.Meta(min_length=1, max_length=80)], ...],
        msgspec.Meta(max_length=200),
    ] = ()

    def __post_init__(self) -> None:
        if self.kind not in SENSORS:
            raise ValueError(f"a sensor must be one of {sorted(SENSORS)}, found {self.kind!r}")

    @property
    def registered(self) -> SensorKind:
        """Return what is registered for this kind of sensor."""
        return SENSORS[self.kind]

    @property
    def samples_per_reading(self) -> int:
        """Return the largest number of samples that one reading can be in.

        Windows overlap where samples come faster than a window passes, and a sensor that is slower
        than the rate repeats one reading at several ticks.

        >>> Sensor("motion", rate=20, window=64, every=30).samples_per_reading
        1
        >>> Sensor("motion", rate=20, window=64, every=1).samples_per_reading
        5
        """
        if self.registered.typed_in or self.trigger == "label-change":
            return 1
        apart = max(1, math.ceil(self.every * self.rate - 1e-9))
        repeated = max(GAP_TICKS, math.ceil(GAP_SECONDS * self.rate))
        return math.ceil((self.window + repeated - 1) / apart)


def features_made(transform: str, fields: int) -> int | None:
    """Return how many features a transform makes of `typed` numbers; None if the task says.

    >>> features_made("summary", 0), features_made("values", 2), features_made("spectrum", 0)
    (4, 2, None)
    """
    return {"summary": len(SUMMARY), "values": fields}.get(transform)

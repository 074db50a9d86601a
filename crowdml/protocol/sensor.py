"""[features.sensor]: how a device turns a sensor's readings into x, so that every device does."""

import math
from typing import Annotated, Literal

import msgspec

__all__ = ["GAP_SECONDS", "GAP_TICKS", "Sensor"]

GAP_SECONDS = 1.0
GAP_TICKS = 5
"""Readings further apart than either of these do not belong into one window."""


class Sensor(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The pipeline from readings to samples.

    A reading is one number: the length of the acceleration vector (`motion`, m/s²), the level of
    the sound (`sound`, root mean square, 0 … 1), the illuminance (`light`, lux) or the speed
    (`speed`, m/s). `manual` has no readings: the participant enters the numbers named in `fields`.

    Args:
        kind: Which sensor.
        rate: Readings a second; a device that gets more or fewer takes the newest at each tick.
        window: Readings in a window. A window never spans two labels, nor a gap in the readings.
        transform: `spectrum`: absolute values of the first bins of the window's Fourier
            transform, divided by their sum. `amplitudes`: the same divided by `scale` instead.
            `summary`: mean, standard deviation, smallest and largest, divided by `scale`.
            `values`: what was entered, divided by `scale`.
        first_bin: A weight for bin 0 of the spectrum, which for motion is mostly gravity.
        scale: A fixed, public divisor.
        every: Seconds from one sample to the next, at least.
        trigger: `always`, or `label-change`: only when the label differs from the last sample's.
        fields: Names of the numbers to enter, for `manual`.
    """

    kind: Literal["light", "manual", "motion", "sound", "speed"]
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

    @property
    def samples_per_reading(self) -> int:
        """The most samples that one reading can be in.

        Windows overlap where samples come faster than a window passes, and a sensor that is slower
        than the rate leaves one reading at several ticks.

        >>> Sensor("motion", rate=20, window=64, every=30).samples_per_reading
        1
        >>> Sensor("motion", rate=20, window=64, every=1).samples_per_reading
        5
        """
        if self.kind == "manual" or self.trigger == "label-change":
            return 1
        apart = max(1, math.ceil(self.every * self.rate - 1e-9))
        repeated = max(GAP_TICKS, math.ceil(GAP_SECONDS * self.rate))
        return math.ceil((self.window + repeated - 1) / apart)

"""Turn readings in their own units into the features that a model sees: [features]."""

import contextlib
import math
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, TypeAlias

import msgspec
import numpy as np
import numpy.typing as npt

from crowdml.errors import InvalidSample
from crowdml.phrase import Phrase, Value, join_phrases
from crowdml.protocol.features.sensor import SUMMARY, Sensor
from crowdml.tables import check_columns, quoted
from crowdml.types import Array

MOST_SCALES = 6.0
"""A reading is cut at this number of scales on either side of its column's center."""

MOST_FEATURES = 100_000
MOST_NAMES_SHOWN = 20
"""Columns that are named to people."""

Positive: TypeAlias = Annotated[float, msgspec.Meta(ge=1e-9, le=1e9)]
Text: TypeAlias = Annotated[str, msgspec.Meta(max_length=2000)]
FeatureName: TypeAlias = Annotated[str, msgspec.Meta(min_length=1, max_length=80)]
Center: TypeAlias = Annotated[float, msgspec.Meta(ge=-1e15, le=1e15)]

SUBTRACTED = Phrase(
    "The number before ± is subtracted from a reading, and the difference is divided by the "
    "number after it."
)
FILLED_IN = Phrase("Where a reading is missing, the number before ± stands in its place.")

Readings: TypeAlias = Mapping[str, object] | Sequence[float | None] | npt.ArrayLike
"""The readings of one sample: by name, or in the order of the names. None or NaN is missing."""


class Features(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Describe how many features there are, what they are, and how readings become features.

    A reading x_j becomes z_j = (x_j − center_j) / scale_j, cut at ±6 where a scale is given, and is
    divided by `length`. The mechanism then bounds ‖z‖. All constants are public, in the terms.

    Args:
        count: D.
        description: What the numbers are, in plain words.
        sensor: How devices make x of a sensor's readings, if they do.
        names: The name of each column; none if empty.
        center: A usual value of each column; zeros if empty.
        scale: How much each column usually differs from its center; ones if empty.
        length: A common divisor.
        missing: Whether a sample with a missing value is rejected, or has the center there.

    >>> room = Features(2, names=("light", "warmth"), center=(300.0, 21.0), scale=(250.0, 3.0))
    >>> room.scaled(room.values({"warmth": 24.0, "light": 175})).tolist()
    [-0.5, 1.0]
    """

    count: Annotated[int, msgspec.Meta(ge=1, le=MOST_FEATURES)]
    description: Text = ""
    sensor: Sensor | None = None
    names: Annotated[tuple[FeatureName, ...], msgspec.Meta(max_length=MOST_FEATURES)] = ()
    center: Annotated[tuple[Center, ...], msgspec.Meta(max_length=MOST_FEATURES)] = ()
    scale: Annotated[tuple[Positive, ...], msgspec.Meta(max_length=MOST_FEATURES)] = ()
    length: Positive = 1.0
    missing: Literal["reject", "center"] = "reject"

    @property
    def transforms(self) -> bool:
        """Return whether readings become other numbers before their length is bounded."""
        return bool(self.center or self.scale or self.length != 1.0)

    @property
    def column_names(self) -> tuple[str, ...]:
        """Return the name of each number in x; x0, x1, … where there is none.

        >>> typed = Sensor("manual", transform="values", scale=100, fields=("height", "weight"))
        >>> Features(2, sensor=typed).column_names
        ('height/100', 'weight/100')
        """
        if self.names:
            return self.names
        sensor = self.sensor
        if sensor is None:
            return tuple(f"x{k}" for k in range(self.count))
        divisor = "" if sensor.scale == 1 else f"/{sensor.scale:g}"
        match sensor.transform:
            case "values":
                return tuple(f"{field}{divisor}" for field in sensor.fields)
            case "summary":
                return tuple(f"{what}{divisor}" for what in SUMMARY)
            case "amplitudes":
                return tuple(f"bin {k}{divisor}" for k in range(self.count))
            case "spectrum":
                return tuple(f"bin {k}" for k in range(self.count))

    @property
    def sentences(self) -> tuple[Phrase, ...]:
        """Name the readings and the constants, for people who decide whether to take part."""
        if not (self.names or self.transforms):
            return ()
        named: list[Value] = list(self.column_names[:MOST_NAMES_SHOWN])
        if self.center or self.scale:
            centers, scales = self.center or (0,) * self.count, self.scale or (1,) * self.count
            named = [
                Phrase("{name} ({center} ± {scale})", name=name, center=center, scale=scale)
                for name, center, scale in zip(named, centers, scales, strict=False)
            ]
        if self.count > MOST_NAMES_SHOWN:
            named.append(Phrase("{n} more", n=self.count - MOST_NAMES_SHOWN))
        said = [Phrase("Readings: {names}.", names=join_phrases(named, ", "))]
        said += [SUBTRACTED] if self.center or self.scale else []
        said += [Phrase("A result beyond ±{n} counts as ±{n}.", n=6)] if self.scale else []
        if self.length != 1.0:
            said.append(Phrase("All results are divided by {length}.", length=self.length))
        return (*said, FILLED_IN) if self.missing == "center" else tuple(said)

    def values(self, readings: Readings, extra: bool = False) -> list[float | None]:
        """Return the readings of one sample in the order of the columns, None where one is missing.

        Args:
            readings: By name, or in the order of the columns.
            extra: Whether further names are ignored, and not a mistake.

        Raises:
            InvalidSample: A name is missing or unknown, there are too few or too many readings, or
                one is not a number.
        """
        if isinstance(readings, Mapping):
            wrong = check_columns(self.column_names, readings, extra)
            if wrong:
                raise InvalidSample(f"readings must have the names of the task: {wrong}")
            cells: Sequence[object] = [readings[name] for name in self.column_names]
        else:
            cells = self._in_order(readings)
        return [_number(*cell) for cell in zip(self.column_names, cells, strict=True)]

    def scaled(self, values: Sequence[float | None]) -> Array:
        """Return the numbers that the mechanism bounds, for one sample."""
        row = np.array([np.nan if value is None else value for value in values], dtype=np.float64)
        scaled: Array = self.scaled_rows(row[None])[0]
        return scaled

    def scaled_rows(self, x: Array) -> Array:
        """Return the numbers that the mechanism bounds, for many samples; NaN is missing."""
        missing = np.isnan(x)
        if missing.any() and self.missing == "reject":
            name = self.column_names[int(missing.any(axis=0).argmax())]
            raise InvalidSample(f"{quoted(name)} must have a number in every sample, found none.")
        if not self.transforms:
            return x
        # A number too large for a float becomes infinite: it is cut, or rejected with the bound.
        with np.errstate(over="ignore"):
            if self.center:
                x = x - np.array(self.center)
            if self.scale:
                x = np.clip(x / np.array(self.scale), -MOST_SCALES, MOST_SCALES)
            return np.where(missing, 0.0, x / self.length)

    def _in_order(self, readings: Any) -> Sequence[object]:
        try:
            row = np.asarray(readings)
            if row.dtype.kind not in "biuf":
                row = np.array(readings, dtype=object)
        except (TypeError, ValueError) as error:
            raise InvalidSample(f"x must be {self.count} numbers: {error}.") from error
        if row.shape != (self.count,):
            found = len(row) if row.ndim == 1 else f"an array of shape {row.shape}"
            raise InvalidSample(f"x must be {self.count} numbers, found {found}.")
        in_order: list[object] = row.tolist()
        return in_order


def _number(name: str, value: object) -> float | None:
    """Return a finite number, or None for a missing one; reject anything else."""
    if value is None:
        return None
    if isinstance(value, int | float | np.number | np.bool_):
        with contextlib.suppress(OverflowError):
            number = float(value)
            if math.isnan(number):
                return None
            if math.isfinite(number):
                return number
    raise InvalidSample(f"{quoted(name)} must be a finite number, found {quoted(value)}.")

"""The course of a task in a bounded number of points: kept along the way, never recomputed."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from crowdml.types import Array, Ints

__all__ = ["Course", "History", "Minutes", "Point"]

MOST_POINTS = 512
MOST_MINUTES = 24 * 60


class Point(NamedTuple):
    """Where a task was after some check-in: sums since the start, and over the recent window."""

    version: int
    errors: float
    evaluated: int
    evaluations: int
    recent_errors: float
    recent_evaluated: int
    recent_checkins: int
    staleness: int
    active_devices: int


class Minutes(NamedTuple):
    """How many check-ins came in each minute of the last day with any, by its beginning.

    A value: counting makes another one, which within a minute shares all the earlier ones.

    Args:
        earlier: The counts by minute, which are never changed.
        newest: The minute of the newest check-in, in seconds since 1970.
        checkins: Those of the newest minute; 0 if there are none yet.

    >>> minutes = Minutes()
    >>> for at in (0, 0, 60):
    ...     minutes = minutes.counted(at)
    >>> minutes.by_minute
    {0: 2, 60: 1}
    """

    earlier: Mapping[int, int] = MappingProxyType({})
    newest: int = 0
    checkins: int = 0

    @property
    def by_minute(self) -> dict[int, int]:
        return {**self.earlier, self.newest: self.checkins} if self.checkins else {**self.earlier}

    def counted(self, at: int, checkins: int = 1) -> "Minutes":
        """With more check-ins in the minute that began then."""
        if at == self.newest and self.checkins:
            return Minutes(self.earlier, at, self.checkins + checkins)
        earlier = self.by_minute
        if at not in earlier and len(earlier) >= MOST_MINUTES:
            del earlier[min(earlier)]
        return Minutes(earlier, at, earlier.get(at, 0) + checkins)


class Course(NamedTuple):
    """How a task went so far, in a bounded number of points, and the noise behind them."""

    points: Sequence[Point]
    by_minute: Mapping[int, int]
    error_noise: float

    def pace(self, now: float) -> float:
        """Check-ins in the last minute, if those of the calendar minute before came evenly.

        >>> Course((), {0: 4, 60: 1}, 0.0).pace(75.0)  # one since 60, and three of four since 15
        4.0
        """
        minute = int(now) // 60 * 60
        earlier = self.by_minute.get(minute - 60, 0) * (1 - (now - minute) / 60)
        return self.by_minute.get(minute, 0) + earlier


class History:
    """Every k-th check-in, with k doubled whenever there are too many; and the check-ins a minute.

    Both are functions of the log alone, so they are part of the fold. Both are replaced, never
    changed, so that whoever has them needs no copy.

    >>> history = History()
    >>> for version in range(1, 2001):
    ...     if history.wants(version):
    ...         history.add(Point(version, *[0] * 8))
    ...     history.count({60 * (version // 100): 1})
    >>> [point.version for point in history.points][:3], len(history.points)
    ([4, 8, 12], 500)
    >>> history.minutes.by_minute[60]
    100
    """

    def __init__(self) -> None:
        self.points: tuple[Point, ...] = ()
        self.minutes = Minutes()
        self._stride = 1

    def wants(self, version: int) -> bool:
        return version % self._stride == 0

    def add(self, point: Point) -> None:
        self.points += (point,)
        if len(self.points) > MOST_POINTS:
            self._stride *= 2
            self.points = tuple(point for point in self.points if self.wants(point.version))

    def count(self, checkins: Mapping[int, int]) -> None:
        """Add check-ins by the minute in which they came."""
        for at, number in checkins.items():
            self.minutes = self.minutes.counted(at, number)

    def to_arrays(self) -> dict[str, Array | Ints]:
        minutes = list(self.minutes.by_minute.items())
        return {
            "points": np.array(self.points, dtype=np.float64).reshape(-1, len(Point._fields)),
            "by_minute": np.array(minutes, dtype=np.int64).reshape(-1, 2),
            "stride": np.array([self._stride]),
        }

    @classmethod
    def from_arrays(cls, points: Array, by_minute: Ints, stride: Ints) -> "History":
        history = cls()
        history.points = tuple(_point(row) for row in points.tolist())
        history.minutes = Minutes(dict(by_minute.tolist()))
        history._stride = int(stride[0])
        return history


def _point(row: list[float]) -> Point:
    kinds = Point.__annotations__.values()
    return Point(*(kind(value) for kind, value in zip(kinds, row, strict=True)))

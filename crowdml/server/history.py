"""The course of a task in a bounded number of points: kept along the way, never recomputed."""

from typing import NamedTuple

import numpy as np

from crowdml.types import Array, Ints

__all__ = ["History", "Point"]

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


class History:
    """Every k-th check-in, with k doubled whenever there are too many; and how many check-ins
    came in each minute of the last day with any, by its beginning in seconds since 1970.

    Both are functions of the log alone, so they are part of the fold.

    >>> history = History()
    >>> for version in range(1, 2001):
    ...     if history.wants(version):
    ...         history.add(Point(version, *[0] * 8))
    ...     history.count(60 * (version // 100))
    >>> [point.version for point in history.points][:3], len(history.points)
    ([4, 8, 12], 500)
    >>> history.by_minute[60]
    100
    """

    def __init__(self) -> None:
        self.points: list[Point] = []
        self.by_minute: dict[int, int] = {}
        self._stride = 1

    def wants(self, version: int) -> bool:
        return version % self._stride == 0

    def add(self, point: Point) -> None:
        self.points.append(point)
        if len(self.points) > MOST_POINTS:
            self._stride *= 2
            self.points = [point for point in self.points if self.wants(point.version)]

    def count(self, at: int) -> None:
        """One more check-in in the minute that began then."""
        self.by_minute[at] = self.by_minute.get(at, 0) + 1
        if len(self.by_minute) > MOST_MINUTES:
            del self.by_minute[min(self.by_minute)]

    def pace(self, now: float) -> float:
        """Check-ins in the last minute, if those of the calendar minute before came evenly.

        >>> history = History()
        >>> for at in (0, 0, 0, 0, 60):
        ...     history.count(at)
        >>> history.pace(75.0)                  # one since 60, and three of four since 15
        4.0
        """
        minute = int(now) // 60 * 60
        earlier = self.by_minute.get(minute - 60, 0) * (1 - (now - minute) / 60)
        return self.by_minute.get(minute, 0) + earlier

    def to_arrays(self) -> dict[str, Array | Ints]:
        return {
            "points": np.array(self.points, dtype=np.float64).reshape(-1, len(Point._fields)),
            "by_minute": np.array(list(self.by_minute.items()), dtype=np.int64).reshape(-1, 2),
            "stride": np.array([self._stride]),
        }

    @classmethod
    def from_arrays(cls, points: Array, by_minute: Ints, stride: Ints) -> "History":
        history = cls()
        history.points = [_point(row) for row in points.tolist()]
        history.by_minute = dict(by_minute.tolist())
        history._stride = int(stride[0])
        return history


def _point(row: list[float]) -> Point:
    kinds = Point.__annotations__.values()
    return Point(*(kind(value) for kind, value in zip(kinds, row, strict=True)))

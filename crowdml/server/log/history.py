"""Keep the history of a task in a bounded number of points, updated with each check-in."""

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from crowdml.protocol import Estimate
from crowdml.types import Array, Ints

MOST_POINTS = 512
MOST_MINUTES = 24 * 60


class Point(NamedTuple):
    """Hold the sums of a task after some check-in."""

    version: int
    staleness: int
    active_devices: int


class ErrorPoint(NamedTuple):
    """Hold the error of the exported model at a version, as it was estimated then."""

    version: int
    value: float
    margin: float


def error_is_due(version: int) -> bool:
    """Return whether to estimate the error at this version: ten times per factor e.

    >>> [version for version in range(100, 150) if error_is_due(version)]
    [100, 110, 122, 135, 149]
    """
    return version < 2 or int(10 * math.log(version)) > int(10 * math.log(version - 1))


class MinuteCounts(NamedTuple):
    """Count the check-ins in each minute of the last day that has any.

    Counting returns another value, which shares the counts of earlier minutes.

    Args:
        earlier: The counts by minute, which are never changed.
        newest: The minute of the newest check-in, in seconds since 1970.
        checkins: The check-ins of the newest minute; 0 if there are none yet.

    >>> minutes = MinuteCounts()
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

    def counted(self, at: int, checkins: int = 1) -> "MinuteCounts":
        """Return the counts with more check-ins in the minute that began at `at`."""
        if at == self.newest and self.checkins:
            return MinuteCounts(self.earlier, at, self.checkins + checkins)
        earlier = self.by_minute
        if at not in earlier and len(earlier) >= MOST_MINUTES:
            del earlier[min(earlier)]
        return MinuteCounts(earlier, at, earlier.get(at, 0) + checkins)


class TaskHistory(NamedTuple):
    """Hold the history of a task up to one version, in a bounded number of points."""

    points: Sequence[Point]
    by_minute: Mapping[int, int]
    errors: Sequence[ErrorPoint] = ()

    def pace(self, now: float) -> float:
        """Estimate the check-ins of the last minute, as if the previous calendar minute were even.

        >>> TaskHistory((), {0: 4, 60: 1}).pace(75.0)  # one since 60, and three of four since 15
        4.0
        """
        minute = int(now) // 60 * 60
        earlier = self.by_minute.get(minute - 60, 0) * (1 - (now - minute) / 60)
        return self.by_minute.get(minute, 0) + earlier


class HistoryRecorder:
    """Record every k-th check-in, doubling k when there are too many points, and counts per minute.

    Both are functions of the log alone, so they are part of the fold. Both are replaced, never
    changed, so that callers need no copy.

    >>> history = HistoryRecorder()
    >>> for version in range(1, 2001):
    ...     if history.is_due(version):
    ...         history.add(Point(version, 0, 0))
    ...     history.count({60 * (version // 100): 1})
    >>> [point.version for point in history.points][:3], len(history.points)
    ([4, 8, 12], 500)
    >>> history.minutes.by_minute[60]
    100
    """

    def __init__(self) -> None:
        self.points: tuple[Point, ...] = ()
        self.minutes = MinuteCounts()
        self.errors: tuple[ErrorPoint, ...] = ()
        self._stride = 1

    def is_due(self, version: int) -> bool:
        return version % self._stride == 0

    def add(self, point: Point) -> None:
        self.points += (point,)
        if len(self.points) > MOST_POINTS:
            self._stride *= 2
            self.points = tuple(point for point in self.points if self.is_due(point.version))

    def add_error(self, version: int, error: Estimate | None) -> None:
        """Add an estimate of the error, if there is one."""
        if error is not None:
            self.errors += (ErrorPoint(version, error.value, error.margin),)

    def count(self, checkins: Mapping[int, int]) -> None:
        """Add check-ins by the minute in which they arrived."""
        for at, number in checkins.items():
            self.minutes = self.minutes.counted(at, number)

    def to_arrays(self) -> dict[str, Array | Ints]:
        minutes = list(self.minutes.by_minute.items())
        return {
            "points": np.array(self.points, dtype=np.float64).reshape(-1, len(Point._fields)),
            "by_minute": np.array(minutes, dtype=np.int64).reshape(-1, 2),
            "stride": np.array([self._stride]),
            "errors": np.array(self.errors, dtype=np.float64).reshape(-1, 3),
        }

    @classmethod
    def from_arrays(
        cls, points: Array, by_minute: Ints, stride: Ints, errors: Array
    ) -> "HistoryRecorder":
        history = cls()
        history.points = tuple(Point(*map(int, row)) for row in points.tolist())
        history.errors = tuple(ErrorPoint(int(row[0]), *row[1:]) for row in errors.tolist())
        history.minutes = MinuteCounts(dict(by_minute.tolist()))
        history._stride = int(stride[0])
        return history

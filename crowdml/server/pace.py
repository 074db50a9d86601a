"""How many check-ins came in the last minute, since this process started."""

import time
from collections import deque
from collections.abc import Callable

__all__ = ["Pace"]


class Pace:
    """The last minute's commits, each with its number of check-ins.

    >>> clock = iter([0.0, 50.0, 70.0]).__next__
    >>> pace = Pace(clock)
    >>> pace.add(3), pace.add(4)
    (None, None)
    >>> pace.per_minute()
    4
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._commits: deque[tuple[float, int]] = deque()
        self._sum = 0

    def add(self, checkins: int) -> None:
        self._commits.append((self._clock(), checkins))
        self._sum += checkins
        self._forget(self._commits[-1][0] - 60.0)

    def per_minute(self) -> int:
        self._forget(self._clock() - 60.0)
        return self._sum

    def _forget(self, before: float) -> None:
        while self._commits and self._commits[0][0] < before:
            self._sum -= self._commits.popleft()[1]

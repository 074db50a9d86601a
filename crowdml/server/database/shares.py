"""How much of a task's progress comes from each device."""

from collections import Counter, deque
from collections.abc import Iterable

NEWEST = 200
MOST = 20
"""A device may have one in so many of the newest check-ins, where the crowd is large."""

LONG_AGO = 24 * 3600
"""Seconds after which a check-in no longer counts: a crowd may have become small."""


class Shares:
    """Who sent the newest check-ins.

    Args:
        newest: A device and a time in seconds each, the oldest first.

    >>> shares = Shares()
    >>> for device in [*range(100), *[7] * 9]:
    ...     shares.add(device, at=0)
    >>> shares.used_up(7), shares.used_up(8)
    (True, False)
    """

    def __init__(self, newest: Iterable[tuple[int, int]] = ()) -> None:
        self._newest: deque[tuple[int, int]] = deque()
        self._of: Counter[int] = Counter()
        for device, at in newest:
            self.add(device, at)

    def add(self, device: int, at: int) -> None:
        self._newest.append((device, at))
        self._of[device] += 1
        while len(self._newest) > NEWEST or self._newest[0][1] < at - LONG_AGO:
            gone, _ = self._newest.popleft()
            self._of[gone] -= 1
            if not self._of[gone]:
                del self._of[gone]

    def used_up(self, device: int) -> bool:
        """Whether it has its share: a twentieth, or twice an even one if that is more."""
        mine = self._of.get(device, 0)
        return mine >= NEWEST // MOST and mine * len(self._of) >= 2 * NEWEST

"""Measure how much of a task's progress comes from each device."""

from collections import Counter, deque

NEWEST = 200
MOST = 20
"""A device in a large crowd may have sent one in `MOST` of the newest check-ins."""

LONG_AGO = 24 * 3600
"""Seconds after which a check-in no longer counts: a crowd may have become small."""


class Shares:
    """Count which devices sent the newest check-ins.

    >>> shares = Shares()
    >>> for device in [*range(100), *[7] * 9]:
    ...     shares.add(device, at=0)
    >>> shares.used_up(7), shares.used_up(8)
    (True, False)

    Devices that joined from one network within a day, and have sent one check-in each, count as one
    device: joining again and again does not increase the share.

    >>> for device in range(200, 250):
    ...     shares.add(device, at=0, network=1)
    >>> shares.used_up(250, network=1), shares.used_up(250, network=2)
    (True, False)
    >>> shares.used_up(200, network=1)
    False
    """

    def __init__(self) -> None:
        self._newest: deque[tuple[int, int]] = deque()
        self._of: Counter[int] = Counter()
        self._network: dict[int, int] = {}
        self._once: Counter[int] = Counter()

    def add(self, device: int, at: int, network: int | None = None) -> None:
        """Count a check-in of a device; `network` is None if it joined more than a day ago."""
        self._newest.append((device, at))
        if network is not None and device not in self._of:
            self._network[device] = network
        self._change(device, 1)
        while len(self._newest) > NEWEST or self._newest[0][1] < at - LONG_AGO:
            gone, _ = self._newest.popleft()
            self._change(gone, -1)

    def _change(self, device: int, by: int) -> None:
        network = self._network.get(device)
        if network is not None:
            self._once[network] -= self._of[device] == 1
        self._of[device] += by
        if network is not None:
            self._once[network] += self._of[device] == 1
            if not self._once[network]:
                del self._once[network]
        if not self._of[device]:
            del self._of[device]
            self._network.pop(device, None)

    def used_up(self, device: int, network: int | None = None) -> bool:
        """Return whether a device has used its share: 1/20, or twice an even share if larger.

        The first check-in of a device that joined from `network` within a day needs a part of the
        share that all such devices of that network have together.
        """
        mine = self._of.get(device, 0)
        if network is not None and not mine:
            mine = self._once.get(network, 0)
        return mine >= NEWEST // MOST and mine * self._parties >= 2 * NEWEST

    @property
    def _parties(self) -> int:
        return len(self._of) - self._once.total() + len(self._once)

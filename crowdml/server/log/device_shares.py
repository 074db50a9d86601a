"""Measure how much of a task's progress comes from each device."""

from collections import Counter, deque

NEWEST_CHECKINS = 200
SHARE_PARTS = 20
"""A device in a large crowd may have sent one in `SHARE_PARTS` of the newest check-ins."""

COUNTED_SECONDS = 24 * 3600
"""Seconds after which a check-in no longer counts: a crowd may have become small."""


class DeviceShares:
    """Count which devices sent the newest check-ins.

    >>> shares = DeviceShares()
    >>> for device in [*range(100), *[7] * 9]:
    ...     shares.add(device, at=0)
    >>> shares.has_used_up(7), shares.has_used_up(8)
    (True, False)

    Devices that joined from one network within a day, and have sent one check-in each, count as one
    device: joining again and again does not increase the share.

    >>> for device in range(200, 250):
    ...     shares.add(device, at=0, network=1)
    >>> shares.has_used_up(250, network=1), shares.has_used_up(250, network=2)
    (True, False)
    >>> shares.has_used_up(200, network=1)
    False
    """

    def __init__(self) -> None:
        self._newest: deque[tuple[int, int]] = deque()
        self._checkins_of: Counter[int] = Counter()
        self._network: dict[int, int] = {}
        self._singles: Counter[int] = Counter()

    def add(self, device: int, at: int, network: int | None = None) -> None:
        """Count a check-in of a device; `network` is None if it joined more than a day ago."""
        self._newest.append((device, at))
        if network is not None and device not in self._checkins_of:
            self._network[device] = network
        self._change(device, 1)
        while len(self._newest) > NEWEST_CHECKINS or self._newest[0][1] < at - COUNTED_SECONDS:
            gone, _ = self._newest.popleft()
            self._change(gone, -1)

    def _change(self, device: int, by: int) -> None:
        network = self._network.get(device)
        if network is not None:
            self._singles[network] -= self._checkins_of[device] == 1
        self._checkins_of[device] += by
        if network is not None:
            self._singles[network] += self._checkins_of[device] == 1
            if not self._singles[network]:
                del self._singles[network]
        if not self._checkins_of[device]:
            del self._checkins_of[device]
            self._network.pop(device, None)

    def has_used_up(self, device: int, network: int | None = None) -> bool:
        """Return whether a device has used its share: 1/20, or twice an even share if larger.

        The first check-in of a device that joined from `network` within a day needs a part of the
        share that all such devices of that network have together.
        """
        mine = self._checkins_of.get(device, 0)
        if network is not None and not mine:
            mine = self._singles.get(network, 0)
        has_share = mine >= NEWEST_CHECKINS // SHARE_PARTS
        return has_share and mine * self._parties >= 2 * NEWEST_CHECKINS

    @property
    def _parties(self) -> int:
        return len(self._checkins_of) - self._singles.total() + len(self._singles)

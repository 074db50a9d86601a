"""Remember which devices of a task joined within a day, and from which network."""

import time

from crowdml.server.database import DAY, Log


class Newcomers:
    """Hold the network of each device that joined within a day, as a keyed hash.

    Args:
        log: The log of the task whose devices they are.
    """

    def __init__(self, log: Log) -> None:
        self._log = log
        self._newest = -1
        self._joins: dict[int, tuple[int, int]] = {}

    def network_of(self, device: int) -> int | None:
        """Return a device's network; None if it joined more than a day ago or from this machine."""
        network, at = self._joins.get(device, (None, 0))
        return network if at > time.time() - DAY else None

    def load_up_to(self, device: int) -> None:
        """Load the joins of all devices up to this number.

        Devices are numbered in the order in which they joined, so this asks once for each.
        """
        if device <= self._newest:
            return
        long_ago = time.time() - DAY
        while self._joins and self._joins[first := next(iter(self._joins))][1] < long_ago:
            del self._joins[first]
        for row in self._log.joins(self._newest):
            self._joins[row.device] = row.network, row.at
            self._newest = row.device
        self._newest = max(self._newest, device)

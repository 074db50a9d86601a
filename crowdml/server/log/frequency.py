"""Limit how often a device checks in, and count what these limits need."""

import time
from collections import Counter
from collections.abc import Callable, Iterable
from typing import TypeAlias

from crowdml.errors import Rejected
from crowdml.phrase import Phrase
from crowdml.protocol import Task, rejected
from crowdml.server.log.device_shares import DeviceShares
from crowdml.server.throttle import BURST, Throttle

NetworkOf: TypeAlias = Callable[[int], int | None]
"""From a device to the network that it joined from, if that was within a day."""


class Frequency:
    """Limit how often each device of a task may check in.

    Before its body is read, a check-in takes a token from its device's bucket. This bounds the cost
    of a device for one node, so rejected check-ins count too. Before it is appended, a check-in is
    compared with the log, which has the check-ins that any node applied: its device may have the
    task's number of check-ins and a burst in this minute, and its share of the newest check-ins
    unless the owner has chosen that number. Devices that joined from one network within a day share
    the check-ins a minute of one device, so joining often gains nothing.

    `enter` runs in the event loop, the other methods in the store's thread; they share no counts.
    """

    def __init__(self, task: Task, network_of: NetworkOf = lambda _: None) -> None:
        self._network_of = network_of
        self._from_network: Counter[int] = Counter()
        self._per_minute = task.checkins_per_minute
        self._shared = task.enrolment.checkins_per_minute is None
        self._buckets = Throttle(self._per_minute)
        self._minute = 0
        self._this_minute: Counter[int] = Counter()
        self._reserved: list[int] = []
        self._unconfirmed = False
        self._shares = DeviceShares()

    def enter(self, device: int) -> None:
        """Count a request before its body is read; raise `Rejected` if there were too many."""
        self._buckets.take(device)

    def rejection(self, device: int, at: int) -> Rejected | None:
        """Make the rejection of a check-in that is one too many in the minute from `at` on."""
        if at == self._minute and self._this_minute.get(device, 0) >= self._per_minute + BURST:
            words = Phrase(
                "at most {n} check-ins a minute are allowed, and this minute has them.",
                n=self._per_minute,
            )
            return rejected("too-frequent", words, retry_after=60 - time.time() % 60)
        network = self._network_of(device) if self._shared else None
        sent = self._from_network.get(network, 0) if network and at == self._minute else 0
        if sent >= self._per_minute + BURST:
            words = Phrase(
                "devices that joined from one network within a day may send {n} check-ins a minute "
                "together, and this minute has them.",
                n=self._per_minute,
            )
            return rejected("too-frequent", words, retry_after=60 - time.time() % 60)
        if self._shared and self._shares.has_used_up(device, network):
            words = Phrase(
                "this device has sent its share of the newest check-ins. Let others send some."
            )
            return rejected("too-frequent", words, retry_after=60)
        return None

    def count(self, device: int, at: int) -> None:
        """Count a check-in that is in the log."""
        if at != self._minute:
            self._minute = at
            self._this_minute.clear()
            self._from_network.clear()
            self._reserved.clear()
        self._this_minute[device] += 1
        if self._shared:
            network = self._network_of(device)
            self._shares.add(device, at, network)
            if network is not None:
                self._from_network[network] += 1

    def reserve(self, device: int, at: int) -> None:
        """Count a check-in that is about to be appended: `confirm` or `release` follows."""
        self.count(device, at)
        self._reserved.append(device)
        self._unconfirmed = True

    def confirm(self) -> None:
        """Confirm that the reserved check-ins are in the log."""
        self._reserved.clear()
        self._unconfirmed = False

    def release(self, newest: Iterable[tuple[int, int]]) -> None:
        """Undo the reserved check-ins, which are not in the log; these are its newest entries."""
        self._this_minute.subtract(self._reserved)
        for device in self._reserved:
            network = self._network_of(device)
            if network is not None:
                self._from_network[network] -= 1
        self.confirm()
        self._shares = DeviceShares()
        for device, at in newest if self._shared else ():
            self._shares.add(device, at, self._network_of(device))

    def recount(self, newest: Iterable[tuple[int, int]]) -> None:
        """Forget all counts from the log, and count its newest check-ins, the oldest first."""
        self._minute, self._shares = 0, DeviceShares()
        self._this_minute.clear()
        self._from_network.clear()
        self.confirm()
        for device, at in newest:
            self.count(device, at)

    @property
    def unconfirmed(self) -> bool:
        """Return whether check-ins were reserved that may not be in the log."""
        return self._unconfirmed

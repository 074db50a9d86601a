"""Hold a task together with the objects that serve it."""

import asyncio
from collections import deque
from typing import NamedTuple

from crowdml.phrase import Phrase
from crowdml.protocol import CheckinAnswer, rejected
from crowdml.server.log import Arrival, CheckinRules, Learner


class PendingCheckin(NamedTuple):
    """Hold a check-in, and the answer that its sender waits for."""

    arrival: Arrival
    answer: "asyncio.Future[CheckinAnswer]"


class PendingLimit:
    """Limit the check-ins of each device that a node has not answered yet.

    An honest device sends one check-in, and sends it again if its connection broke.

    Args:
        most: Check-ins of one device at once.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._busy: dict[int, int] = {}

    def begin(self, device: int) -> None:
        """Allow this device one more check-in; raise `Rejected` if it has too many."""
        busy = self._busy.get(device, 0)
        if busy >= self._most:
            words = Phrase("at most {n} check-ins of a device may arrive at once.", n=self._most)
            raise rejected("too-frequent", words, retry_after=5)
        self._busy[device] = busy + 1

    def end(self, device: int) -> None:
        busy = self._busy.pop(device)
        if busy > 1:
            self._busy[device] = busy - 1


class ServedTask(NamedTuple):
    """Hold a task with the objects that serve it.

    Args:
        learner: What decides.
        rules: Which check-ins may be sent.
        pending: Which devices have check-ins that are not answered yet.
        waiting: The check-ins that have arrived and are not yet decided.
    """

    learner: Learner
    rules: CheckinRules
    pending: PendingLimit
    waiting: deque[PendingCheckin]

"""Hold a task with all that serves it."""

import asyncio
from collections import deque
from typing import NamedTuple

from crowdml.protocol import CheckinAnswer
from crowdml.server.log import Arrival, Gate, Learner


class PendingCheckin(NamedTuple):
    """A check-in, and the answer that its sender waits for."""

    arrival: Arrival
    answer: "asyncio.Future[CheckinAnswer]"


class Live(NamedTuple):
    """A task with all that serves it.

    Args:
        learner: What decides.
        gate: What may be sent.
        room: How many check-ins may be in memory at once; more wait unread.
        waiting: Those that have arrived, and whose turn is to come.
    """

    learner: Learner
    gate: Gate
    room: asyncio.Semaphore
    waiting: deque[PendingCheckin]

"""Limit the bodies of requests: the time of each, and how many an address may send at once."""

import asyncio
import math
import time
from collections import Counter
from types import TracebackType

from crowdml.errors import Rejected
from crowdml.phrase import Phrase
from crowdml.protocol import rejected
from crowdml.server.settings import Settings

UNCOUNTED_BYTES = 2**16
"""Bytes; bodies up to this size are not counted against an address's share of the memory."""

ADDRESS_PARTS = 4
"""An address may fill one part in this many of the memory for bodies."""

LOOK_SECONDS = 0.5
"""Seconds between two looks for late bodies: one look costs less than a timer for each body."""


class IncomingBody:
    """Track the body of the current task's request, from its first byte until its answer.

    Args:
        limit: The most bytes that it may have.
        announced: The bytes that it will have; None if the request does not say so.
        address: The visitor whose limits apply; None if no limit for an address does.
    """

    def __init__(
        self, bodies: "Bodies", limit: int, announced: int | None, address: str | None
    ) -> None:
        self._all = bodies
        self._given_up = False
        self.limit, self.announced, self.address = limit, announced, address
        self.bytes = 0
        self.seconds = bodies.seconds_for(limit if announced is None else announced)
        self.deadline = time.monotonic() + self.seconds
        task = asyncio.current_task()
        assert task is not None
        self.task = task

    def __enter__(self) -> "IncomingBody":
        self._all.begin(self)
        return self

    def received(self, n_bytes: int) -> None:
        """Count bytes that are in memory now; raise `Rejected` if there are too many."""
        self._all.count(self, n_bytes)

    def mark_complete(self) -> None:
        """Mark the body as complete; its memory is still in use."""
        self._all.end(self)

    def give_up(self) -> None:
        """Make the handler that waits for this body answer with a rejection now."""
        if not self._given_up:
            self._given_up = True
            self.task.cancel()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._all.end(self)
        self._all.release(self)
        if self._given_up and kind is asyncio.CancelledError:
            self.task.uncancel()
            raise self._late() from None

    def _late(self) -> Rejected:
        words = Phrase(
            "the body must arrive within {seconds} s. Send the same bytes again.",
            seconds=math.ceil(self.seconds),
        )
        return rejected("unavailable", words)


class Bodies:
    """Track the bodies of one node that are being read, and those that wait for a commit.

    A body uses memory only for the bytes that have arrived, so a client that announces a body and
    sends nothing uses none.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._unfinished: set[IncomingBody] = set()
        self._from: Counter[str] = Counter()
        self._bytes = 0
        self._bytes_from: Counter[str] = Counter()

    def seconds_for(self, size: int) -> float:
        """Return how long a body of this size may take, in seconds."""
        more = max(0, size - UNCOUNTED_BYTES) / self._settings.body_bytes_per_second
        return self._settings.body_seconds + more

    def begin(self, body: IncomingBody) -> None:
        address, most = body.address, self._settings.most_bodies_per_address
        if address is not None:
            if self._from[address] >= most:
                words = Phrase("at most {n} bodies may come from one address at once.", n=most)
                raise rejected("too-frequent", words, retry_after=5)
            self._from[address] += 1
        self._unfinished.add(body)

    def end(self, body: IncomingBody) -> None:
        if body not in self._unfinished:
            return
        self._unfinished.remove(body)
        _subtract(self._from, body.address, 1)

    def count(self, body: IncomingBody, n_bytes: int) -> None:
        body.bytes += n_bytes
        self._bytes += n_bytes
        most = self._settings.most_waiting_bytes
        if body.bytes <= UNCOUNTED_BYTES:
            return
        if body.address is not None:
            before = body.bytes - n_bytes
            self._bytes_from[body.address] += body.bytes if before <= UNCOUNTED_BYTES else n_bytes
            most_here, here = most // ADDRESS_PARTS, self._bytes_from[body.address]
            crowded = here > most_here and here > body.bytes
        else:
            crowded = False
        if crowded or (self._bytes > most and self._bytes > body.bytes):
            words = Phrase("too many large bodies arrive at once. Send the same bytes again.")
            raise rejected("unavailable", words, retry_after=5)

    def release(self, body: IncomingBody) -> None:
        self._bytes -= body.bytes
        if body.bytes > UNCOUNTED_BYTES:
            _subtract(self._bytes_from, body.address, body.bytes)

    async def watch(self) -> None:
        """Reject bodies that take too long, until cancelled."""
        while True:
            await asyncio.sleep(min(LOOK_SECONDS, self._settings.body_seconds / 2))
            now = time.monotonic()
            for body in list(self._unfinished):
                if body.deadline < now:
                    body.give_up()

    def reject_unfinished(self) -> None:
        """Reject all unfinished bodies, because the server ends."""
        for body in list(self._unfinished):
            body.give_up()


def _subtract(counts: Counter[str], address: str | None, n: int) -> None:
    if address is None:
        return
    counts[address] -= n
    if counts[address] <= 0:
        del counts[address]

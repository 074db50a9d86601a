"""Write the node's row regularly, which also shows whether the database can be written."""

import logging
import re
import secrets
import socket
import time
from collections import Counter
from collections.abc import Callable, Iterable

from crowdml.server.database import NodeRow, Store
from crowdml.server.log import Learner
from crowdml.server.service.counts import Counts

HUNG_SECONDS = 20.0
"""Seconds without an answer after which a write counts as failed: twice what a lock may take."""

REASONS = {
    "full|no space": "the disk is full",
    "read-?only": "the database is read-only",
    "locked|lock timeout": "another process holds the lock of the database",
    "i/o error|permission|denied": "the disk cannot be written",
    "connect|terminat|shutting down|starting up": "the database cannot be reached",
}
"""Plain words for a driver's messages, without the addresses in them."""

logger = logging.getLogger("crowdml.server")


class Heartbeat:
    """Write the heartbeat in the store's thread; any thread may read `trouble`."""

    def __init__(self, every: float, clock: Callable[[], float] = time.monotonic) -> None:
        host = re.sub(r"[^A-Za-z0-9.-]", "", socket.gethostname())[:40]
        self.name = f"{host}-{secrets.token_hex(3)}"
        self.counts = Counts()
        self._every = every
        self._clock = clock
        self._trouble: str | None = None
        self._complained = False
        self._beaten = clock()
        self._summed = clock()
        self._logged: Counter[str] = Counter()
        self._started = int(time.time())
        self._written = NodeRow(self.name, self._started, 0, 0, [])

    @property
    def trouble(self) -> str | None:
        """Return why nothing can be stored; None if it can."""
        silence = self._clock() - self._beaten
        if self._trouble is None and silence > self._every + HUNG_SECONDS:
            return f"the database has not answered for {silence:.0f} seconds"
        return self._trouble

    def beat(self, store: Store, learners: Iterable[Learner]) -> None:
        try:
            behind = [(one, len(store.log(one.id)) - one.version) for one in learners]
            values = list(self.counts.metric_values(behind))
            store.nodes.write(self.name, self._started, values)
        except Exception as error:
            self._trouble = reason_of(error)
            self.failed(error)
        else:
            if self._trouble:
                logger.info("the database can be written again")
            self._trouble, self._complained = None, False
            self._written = self._written._replace(seen=int(time.time()), values=values)
        self._beaten = self._clock()
        self._log_rejections()

    def failed(self, error: Exception, task: str | None = None) -> None:
        """Count a failure, and log it once until the next heartbeat."""
        self.counts.failures += 1
        if not self._complained:
            what = "check-ins were not stored" if task else "the database failed"
            logger.error("%s: %s", what, reason_of(error), exc_info=error, extra={"task": task})
        self._complained = True

    def rows(self, store: Store) -> list[NodeRow]:
        """Return what all nodes wrote last, or only this node's row if that cannot be read.

        The counts are never newer than the written row: the next scrape, through another node,
        would see smaller counts, and a counter that shrinks looks like a restart.
        """
        try:
            return store.nodes.rows()
        except Exception as error:
            self.failed(error)
            return [self._written._replace(age=int(time.time()) - self._written.seen)]

    def _log_rejections(self) -> None:
        if self._clock() - self._summed < 60:
            return
        self._summed, total = self._clock(), Counter(self.counts.rejections)
        if new := total - self._logged:
            kinds = ", ".join(f"{kind} {count}" for kind, count in sorted(new.items()))
            logger.info("rejected within a minute: %s", kinds)
        self._logged = total


def reason_of(error: Exception) -> str:
    text = str(getattr(error, "orig", error)).lower()
    for pattern, reason in REASONS.items():
        if re.search(pattern, text):
            return reason
    return f"the database does not take it ({type(error).__name__})"

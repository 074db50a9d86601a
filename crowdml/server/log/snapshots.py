"""Keep snapshots of a task's fold, so that a start need not read the whole log."""

import logging

from crowdml.protocol import Task
from crowdml.server.database import Log
from crowdml.server.log.fold import Fold

logger = logging.getLogger("crowdml.server")


class Snapshots:
    """Store and read the snapshots of one task.

    Args:
        log: The log whose beginning a snapshot replaces.
        every: The number of check-ins from one snapshot to the next.
        keep_payloads: Whether the log keeps the payloads that snapshots cover.
        about: Extra fields of every log line.
    """

    def __init__(self, log: Log, every: int, keep_payloads: bool, about: dict[str, str]) -> None:
        self._log = log
        self._every = every
        self._keep_payloads = keep_payloads
        self._about = about
        self._at = 0

    def newest(self, task: Task, terms_sha256: str) -> Fold:
        """Read the newest readable snapshot; without one, start an empty fold.

        A damaged snapshot only costs time: the one before it, and all later payloads, are still
        there.
        """
        for seq, snapshot in self._log.snapshots():
            try:
                fold = Fold.from_bytes(task, terms_sha256, snapshot)
            except Exception as error:
                # Damaged bytes can raise any error of archives, arrays and numbers.
                why = f"{type(error).__name__}: {error}"
                logger.warning("the snapshot at %d cannot be read: %s", seq, why, extra=self._about)
            else:
                self._at = fold.version
                return fold
        self._at = 0
        return Fold(task, terms_sha256)

    def save(self, fold: Fold) -> None:
        """Store a snapshot. It only speeds up the next start: a failure is logged and ignored."""
        if fold.version == self._at:
            return
        self._at = fold.version
        try:
            self._log.save_snapshot(fold.version, fold.to_bytes(), self._keep_payloads)
        except Exception:
            logger.exception("the snapshot was not stored; the log is whole", extra=self._about)

    def save_if_due(self, fold: Fold, before: int) -> None:
        """Store a snapshot if the newest check-ins, those after `before`, complete `every`.

        By this rule one of several processes stores it.
        """
        every = self._every
        if before // every != fold.version // every or fold.state.final:
            self.save(fold)

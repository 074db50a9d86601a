"""Own the fold of one task: append to its log, follow it, and publish each version."""

import logging
from collections.abc import Iterable, Iterator

import sqlalchemy as sa

from crowdml.errors import CrowdmlError, InvalidInput, Rejected
from crowdml.protocol import CheckinAnswer, State, Task, terms_hash
from crowdml.server.database import (
    DROPPED_PAYLOAD,
    CheckinMark,
    Log,
    LogEntry,
    OwnerSettings,
    TaskRow,
)
from crowdml.server.log.decision import Arrival, CheckinDecision, decide, rejection_of
from crowdml.server.log.device_shares import NEWEST_CHECKINS
from crowdml.server.log.fold import Fold
from crowdml.server.log.frequency import Frequency
from crowdml.server.log.newcomers import Newcomers
from crowdml.server.log.published import Published
from crowdml.server.log.sent_numbers import SentNumbers
from crowdml.server.log.snapshots import Snapshots

logger = logging.getLogger("crowdml.server")


class Learner:
    """Run one task: append to its log and fold it.

    All methods run in the store's thread, one at a time. Any thread may read `published`, `state`,
    `version` and `devices`, which describe the last commit.
    """

    def __init__(
        self, row: TaskRow, log: Log, snapshot_every: int, keep_payloads: bool = True
    ) -> None:
        self.id = row.id
        self.task = row.task
        self.terms = row.terms
        self.terms_sha256 = terms_hash(row.terms)
        self.devices = 0
        self._about = {"task": row.task.name}
        self._shown: tuple[int, State, Task] | None = None
        self._owner_settings = row.owner_settings
        self._owner_state = State(row.owner_settings.state)
        self._log = log
        self._snapshots = Snapshots(log, snapshot_every, keep_payloads, self._about)
        self._newcomers = Newcomers(log)
        self.frequency = Frequency(row.task, self._newcomers.network_of)
        self._removed = row.owner_settings.removed
        self.recover()

    def recover(self) -> None:
        """Rebuild the fold: the newest snapshot, then the rest of the log."""
        self._restore()
        self._fold_is_ahead = False
        newest = self._log.newest(self._fold.version, NEWEST_CHECKINS)
        self._newcomers.load_up_to(max((device for device, _ in newest), default=-1))
        self.frequency.recount(newest)
        self._catch_up(self._log.after(self._fold.version))
        self._publish()

    def _restore(self) -> None:
        self._fold = self._snapshots.newest(self.task, self.terms_sha256)
        self._sent = SentNumbers(self._log.numbers(self._fold.version))
        self._fold.reopen_at(self._owner_settings.reopened)

    def committed_fold(self) -> Fold:
        """Return the fold of what is on disk; rebuild it if a commit has failed."""
        if self._fold_is_ahead:
            self.recover()
            logger.warning("a commit failed, so the fold was rebuilt", extra=self._about)
        return self._fold

    @property
    def state(self) -> State:
        return self.published.state

    @property
    def version(self) -> int:
        return self.published.version

    def _apply_owner_settings(self, owner_settings: OwnerSettings) -> None:
        edited, self._owner_settings = (
            owner_settings.edited != self._owner_settings.edited,
            owner_settings,
        )
        if edited:
            self._reload_task()
        self._owner_state = State(owner_settings.state)
        self._fold.reopen_at(owner_settings.reopened)

    def _reload_task(self) -> None:
        """Apply an edit by the owner; the end of the task is part of the fold from its start."""
        stop, self.task = self.task.stop, self._log.task()
        self._fold.task = self.task
        if self.task.stop != stop:
            self._restore()

    def refresh(self, owner_settings: OwnerSettings | None = None) -> None:
        """Apply what other processes wrote."""
        if owner_settings is not None:
            self._apply_owner_settings(owner_settings)
            self._removed = owner_settings.removed
        self.committed_fold()
        self._catch_up(self._log.after(self._fold.version))
        self._publish()

    def ingest(self, arrivals: Iterable[Arrival]) -> list[CheckinDecision]:
        """Append a group of check-ins in one commit and apply them; return one decision for each.

        The group is taken when the lock is held: check-ins that arrive during the wait belong to
        it. No other process appends meanwhile, and what others appended before is applied first.
        The fold runs ahead of the commit, so that the stopping rule sees every check-in in turn.
        Nothing is published before the commit; after a failed commit the fold is rebuilt.
        """
        before, group = self.committed_fold().version, list[Arrival]()
        try:
            decisions = self._append_group(arrivals, group, search_log=False)
        except sa.exc.IntegrityError:
            # A repeated id or number is rare, so the log is searched only now.
            decisions = self._append_group((), group, search_log=True)
        self._publish()
        if self._fold.version > before:
            self._snapshots.save_if_due(self.committed_fold(), before)
        return decisions

    def _append_group(
        self, arrivals: Iterable[Arrival], group: list[Arrival], search_log: bool
    ) -> list[CheckinDecision]:
        """Append all or none.

        The database rejects an id or number that it has, before the fold changes.
        """
        with self._log.appending(self._fold.version) as (owner_settings, news):
            if owner_settings != self._owner_settings:
                self._apply_owner_settings(owner_settings)
                news = self._log.after(self._fold.version)
            self._catch_up(news)
            group += arrivals
            if group:
                self._newcomers.load_up_to(max(arrival.device.number for arrival in group))
            removed: dict[int, str] = {}
            if owner_settings.removed != self._removed:
                # The node that authenticated these devices does not know yet that they have left.
                removed = self._log.removed({arrival.device.number for arrival in group})
            decisions, entries = self._decide(group, {}, removed)
            if search_log or any(isinstance(decision, Rejected) for decision in decisions):
                # A repeated check-in gets its first answer again, not a rejection.
                keys = [(device.number, c.id, c.number) for device, c in group]
                decisions, entries = self._decide(group, self._log.seen(keys), removed)
            self._log.append(entries)
            before = self._fold.version
            self._fold_is_ahead = True
            self._fold.apply(*entries)
            if entries and entries[-1].seq > self._fold.version:
                decisions = self._cut(decisions)
        self._fold_is_ahead = False
        self._sent.add_all(entries[: self._fold.version - before])
        self.frequency.confirm()
        return decisions

    def _decide(
        self, arrivals: list[Arrival], seen: dict[CheckinMark, int], removed: dict[int, str]
    ) -> tuple[list[CheckinDecision], list[LogEntry]]:
        if self.frequency.unconfirmed:
            self.frequency.release(self._log.newest(self._fold.version, NEWEST_CHECKINS))
        state = self._state_of(self._fold)
        return decide(
            self.id, self._fold, state, self.frequency, self._sent, arrivals, seen, removed
        )

    def _cut(self, decisions: list[CheckinDecision]) -> list[CheckinDecision]:
        """Delete the entries after the end of the task, which fell within the group."""
        version, rejection = self._fold.version, rejection_of(self._state_of(self._fold))
        assert rejection is not None
        self._log.cut(version)
        return [
            rejection
            if isinstance(decision, CheckinAnswer) and decision.version > version
            else decision
            for decision in decisions
        ]

    def _catch_up(self, news: Iterator[list[LogEntry]]) -> None:
        """Apply what other processes appended; if that is much, read their snapshot instead."""
        for entries in news:
            gone = next(
                (entry.seq for entry in reversed(entries) if entry.payload == DROPPED_PAYLOAD), None
            )
            if gone is not None:
                self._load_newer_snapshot(gone)
                self._catch_up(self._log.after(self._fold.version))
                return
            self._fold.apply(*entries)
            self._sent.add_all(entries)
            self._newcomers.load_up_to(max(entry.device for entry in entries))
            for entry in entries:
                self.frequency.count(entry.device, entry.at)

    def reopen(self, by: str) -> None:
        """Reopen a task that its owner believes has ended too early.

        The task goes on until the target is reached again, or for the same number of check-ins once
        more. The decision has its place in the log, so every node that folds the log computes the
        same state.
        """
        self.committed_fold()
        with self._log.appending(self._fold.version) as (owner_settings, _):
            self._apply_owner_settings(owner_settings)
            self._catch_up(self._log.after(self._fold.version))
            if not self._fold.state.final:
                raise InvalidInput(
                    f"only a task that has reached its target error, or made all its check-ins, "
                    f"can be reopened, and {self.task.name} is {self._state_of(self._fold)}."
                )
            self._log.reopen(self._fold.version, by)
        self.refresh(
            owner_settings._replace(reopened=f"{owner_settings.reopened} {self._fold.version}")
        )

    def _load_newer_snapshot(self, seq: int) -> None:
        logger.warning("far behind, so the fold is rebuilt from a snapshot", extra=self._about)
        self._restore()
        if self._fold.version < seq:
            raise CrowdmlError(
                f"the snapshots of {self.task.name} cannot be read, and what its check-ins up to "
                f"{seq} sent is no longer kept. Restore a backup."
            )

    def save_snapshot(self) -> None:
        """Save the fold, so that the next start need not read the whole log."""
        self._snapshots.save(self.committed_fold())

    def _publish(self) -> None:
        fold = self.committed_fold()
        state, before = self._state_of(fold), self._shown
        self._shown = fold.version, state, self.task
        if self._shown == before:
            return
        if before and state is not self.state:
            logger.info("the task is %s", state, extra=self._about)
        self.published = Published.of(fold, state)

    def _state_of(self, fold: Fold) -> State:
        """Combine the log's state with the owner's, who may pause or stop a running task."""
        return fold.state if fold.state.final else self._owner_state

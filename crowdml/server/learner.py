"""The learner: it owns the fold of one task and decides what may enter the log."""

import logging
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple, TypeAlias

import msgspec
import sqlalchemy as sa

from crowdml.errors import CrowdmlError, InvalidInput, Rejected
from crowdml.phrase import Phrase
from crowdml.protocol import Checkin, CheckinAnswer, State, rejected, terms_hash
from crowdml.server.database import Wish
from crowdml.server.entry import LogEntry, this_minute
from crowdml.server.fold import Fold
from crowdml.server.log import NOTHING, Log, Mark, marks_of
from crowdml.server.published import Published
from crowdml.server.shares import Shares
from crowdml.server.store import DeviceRow, TaskRow
from crowdml.server.throttle import BURST

__all__ = ["Arrival", "Learner"]

Answer: TypeAlias = CheckinAnswer | Rejected
NOBODY: Counter[int] = Counter()

log = logging.getLogger("crowdml.server")


class Arrival(NamedTuple):
    """A check-in that passed every check which needs no order."""

    device: DeviceRow
    checkin: Checkin


class Learner:
    """One task, live.

    Everything runs in the store's thread, one at a time, but for `published`, `state` and
    `version`: those are as of the last commit, and any thread may read them.
    """

    def __init__(
        self, row: TaskRow, entries: Log, snapshot_every: int, keep_told: bool = True
    ) -> None:
        self.id = row.id
        self.task = row.task
        self.terms = row.terms
        self.terms_sha256 = terms_hash(row.terms)
        self.devices = 0
        self._about = {"task": row.task.name}
        self._etag = ""
        self._wish = row.wish
        self._owner_state = State(row.wish.state)
        self._log = entries
        self._snapshot_every = snapshot_every
        self._keep_told = keep_told
        self._minute = 0
        self._this_minute: Counter[int] = Counter()
        self.recover()

    def recover(self) -> None:
        """Rebuild the fold: the newest snapshot, then the rest of the log."""
        self._restore()
        self._fold_is_ahead = False
        self._shares = Shares(self._log.newest(self._fold.version))
        self._catch_up(self._log.after(self._fold.version))
        self._publish()

    def _restore(self) -> None:
        self._fold = self._restored()
        self._snapshot_at = self._fold.version
        self._fold.reopen_at(self._wish.reopened)

    def _restored(self) -> Fold:
        """A snapshot that cannot be read, say a damaged one, costs time and nothing else: the one
        before it is there, and all that was told since."""
        for seq, snapshot in self._log.snapshots():
            try:
                return Fold.from_bytes(self.task, self.terms_sha256, snapshot)
            except Exception as error:
                # Damaged bytes can raise anything that archives, arrays and numbers can.
                why = f"{type(error).__name__}: {error}"
                log.warning("the snapshot at %d cannot be read: %s", seq, why, extra=self._about)
        return Fold(self.task, self.terms_sha256)

    def settled(self) -> Fold:
        """The fold of what is on disk, rebuilt if a commit has failed since."""
        if self._fold_is_ahead:
            self.recover()
            log.warning("a commit failed, so the fold was rebuilt", extra=self._about)
        return self._fold

    @property
    def state(self) -> State:
        return self.published.state

    @property
    def version(self) -> int:
        return self.published.version

    def _heed(self, wish: Wish) -> None:
        edited, self._wish = wish.edited != self._wish.edited, wish
        if edited:
            self._read_again()
        self._owner_state = State(wish.state)
        self._fold.reopen_at(wish.reopened)

    def _read_again(self) -> None:
        """The owner has edited the task; when it ends is part of the fold, from its start on."""
        stop, self.task = self.task.stop, self._log.task()
        self._fold.task = self.task
        if self.task.stop != stop:
            self._restore()

    def refresh(self, wish: Wish | None = None) -> None:
        """Take in what other processes wrote."""
        if wish is not None:
            self._heed(wish)
        self.settled()
        self._catch_up(self._log.after(self._fold.version))
        self._publish()

    def ingest(self, arrivals: Iterable[Arrival]) -> list[Answer]:
        """Append a group of check-ins in one commit and apply them; one answer for each.

        They are taken when the turn has come: those that arrive while it is waited for belong to
        it. No other process appends meanwhile, and what they appended before is taken in first. The
        fold runs ahead of the commit, so that the stopping rule sees every check-in in turn;
        nothing is published before the commit, and after a failed one the fold is rebuilt.
        """
        before, group = self.settled().version, list[Arrival]()
        try:
            answers = self._take_turn(arrivals, group, look=False)
        except sa.exc.IntegrityError:
            # Somebody repeats something, which is rare: only now look for what is known.
            answers = self._take_turn((), group, look=True)
        self._publish()
        if self._fold.version > before:
            self._snapshot_if_due(before)
        return answers

    def _take_turn(
        self, arrivals: Iterable[Arrival], group: list[Arrival], look: bool
    ) -> list[Answer]:
        """All or none: the database itself refuses an id or number that it has, before the fold
        takes anything in."""
        with self._log.turn(self._fold.version) as (wish, news):
            if wish != self._wish:
                self._heed(wish)
                news = self._log.after(self._fold.version)
            self._catch_up(news)
            group += arrivals
            answers, entries = self._decide(group, {})
            if look or any(isinstance(answer, Rejected) for answer in answers):
                # What is repeated gets its first answer again, not a refusal.
                keys = [(device.number, c.id, c.number) for device, c in group]
                self._shares = Shares(self._log.newest(self._fold.version))
                answers, entries = self._decide(group, self._log.seen(keys))
            self._log.append(entries)
            self._fold_is_ahead = True
            self._apply(entries)
            if entries and entries[-1].seq > self._fold.version:
                answers = self._cut(answers)
        self._fold_is_ahead = False
        return answers

    def _decide(
        self, arrivals: list[Arrival], seen: dict[Mark, int]
    ) -> tuple[list[Answer], list[LogEntry]]:
        """An answer for each, and what is to be appended, unless one of them ends the task."""
        answers: list[Answer] = []
        entries: list[LogEntry] = []
        closed = self._closed()
        at = this_minute()
        before = self._this_minute if self._minute == at else NOBODY
        now: Counter[int] = Counter()
        for device, checkin in arrivals:
            version = self._fold.version + len(entries)
            answer = (
                _repeated(device, checkin, seen)
                or closed
                or self._too_old(checkin, version)
                or self._too_frequent(before[device.number] + now[device.number])
                or self._too_large_a_share(device.number)
            )
            if answer is None:
                entry = self._entry(device, checkin, version + 1, at)
                entries.append(entry)
                now[device.number] += 1
                self._shares.add(entry.device, entry.at)
                for mark in marks_of(entry.device, entry.id, entry.number):
                    seen[mark] = entry.seq
                answer = CheckinAnswer(entry.seq, "applied")
            answers.append(answer)
        return answers, entries

    def _cut(self, answers: list[Answer]) -> list[Answer]:
        """The task ended within the group: what follows the end does not belong to the log."""
        version, closed = self._fold.version, self._closed()
        assert closed is not None
        self._log.cut(version)
        return [
            closed if isinstance(answer, CheckinAnswer) and answer.version > version else answer
            for answer in answers
        ]

    def _catch_up(self, news: Iterator[list[LogEntry]]) -> None:
        """Apply what other processes appended; far behind, a snapshot of theirs is nearer."""
        for entries in news:
            gone = next((entry.seq for entry in reversed(entries) if entry.told == NOTHING), None)
            if gone is not None:
                self._leap(gone)
                self._catch_up(self._log.after(self._fold.version))
                return
            self._apply(entries)
            for entry in entries:
                self._shares.add(entry.device, entry.at)

    def reopen(self, by: str) -> None:
        """The owner does not believe that the target was reached: go on until it is again.

        The decision has its place in the log, so that whoever folds that comes to the same.
        """
        self.settled()
        with self._log.turn(self._fold.version) as (wish, _):
            self._heed(wish)
            self._catch_up(self._log.after(self._fold.version))
            if not self._fold.reached:
                raise InvalidInput(
                    f"only a task that has reached its target error can be reopened, and "
                    f"{self.task.name} is {self._state_of(self._fold)}."
                )
            self._log.reopen(self._fold.version, by)
        self.refresh(wish._replace(reopened=f"{wish.reopened} {self._fold.version}"))

    def _leap(self, seq: int) -> None:
        log.warning("far behind, so the fold is rebuilt from a snapshot", extra=self._about)
        self._restore()
        if self._fold.version < seq:
            raise CrowdmlError(
                f"the snapshots of {self.task.name} cannot be read, and what its check-ins up to "
                f"{seq} told is no longer kept. Restore a backup."
            )

    def _apply(self, entries: list[LogEntry]) -> None:
        self._fold.apply(*entries)
        for entry in entries:
            if entry.at != self._minute:
                self._minute = entry.at
                self._this_minute.clear()
            self._this_minute[entry.device] += 1

    def save_snapshot(self) -> None:
        """A shortcut for the next start. Without it that takes longer, so failing is no failure."""
        fold = self.settled()
        if fold.version == self._snapshot_at:
            return
        self._snapshot_at = fold.version
        try:
            self._log.save_snapshot(fold.version, fold.to_bytes(), self._keep_told)
        except Exception:
            log.exception("the snapshot was not stored; the log is whole", extra=self._about)

    def _snapshot_if_due(self, before: int) -> None:
        """Of several processes, the one that goes over the mark takes it."""
        every = self._snapshot_every
        if before // every != self._fold.version // every or self._fold.state.final:
            self.save_snapshot()

    def _publish(self) -> None:
        fold = self.settled()
        now = Published(fold.version, self._state_of(fold), fold.w)
        if now.etag == self._etag:
            return
        if self._etag and now.state is not self.state:
            log.info("the task is %s", now.state, extra=self._about)
        self._etag, self.published = now.etag, now

    def _state_of(self, fold: Fold) -> State:
        """The owner may pause or stop a task that the log alone would let run."""
        return fold.state if fold.state.final else self._owner_state

    def _closed(self) -> Rejected | None:
        """The refusal of everything, if the task takes nothing now."""
        state = self._state_of(self._fold)
        if state.final:
            return rejected(
                "task-finished",
                Phrase("the task has ended: {state}. Stop collecting.", state=state.phrase),
                state=state,
            )
        if state is State.PAUSED:
            words = Phrase("the task is paused. Try again later.")
            return rejected("task-paused", words, state=state)
        return None

    def _too_old(self, checkin: Checkin, version: int) -> Rejected | None:
        """Or too new."""
        if checkin.version > version:
            return rejected(
                "future-version",
                Phrase(
                    "version must be at most {most}, found {found}. Check out again.",
                    most=version,
                    found=checkin.version,
                ),
                version=version,
            )
        cap = self.task.enrolment.max_staleness
        if cap is not None and version - checkin.version > cap:
            return rejected(
                "stale-version",
                Phrase(
                    "a gradient may be at most {most} versions late, found {found}. Check out "
                    "again.",
                    most=cap,
                    found=version - checkin.version,
                ),
                version=version,
            )
        return None

    def _too_frequent(self, this_minute: int) -> Rejected | None:
        """Through whatever processes its check-ins came, the log has them all."""
        most = self.task.checkins_per_minute
        if this_minute < most + BURST:
            return None
        return rejected(
            "too-frequent",
            Phrase("at most {n} check-ins a minute are allowed, and this minute has them.", n=most),
            retry_after=60 - time.time() % 60,
        )

    def _too_large_a_share(self, device: int) -> Rejected | None:
        """Not where the owner has set the pace."""
        owners = self.task.enrolment.checkins_per_minute is not None
        if owners or not self._shares.used_up(device):
            return None
        return rejected(
            "too-frequent",
            Phrase("this device has sent its share of the newest check-ins. Let others send some."),
            retry_after=60,
        )

    def _entry(self, device: DeviceRow, checkin: Checkin, seq: int, at: int) -> LogEntry:
        told = msgspec.convert(checkin, self._fold.mechanism.told, from_attributes=True)
        return LogEntry(
            task=self.id,
            seq=seq,
            device=device.number,
            id=checkin.id,
            at=at,
            version=checkin.version,
            number=checkin.number,
            samples=checkin.samples,
            told=msgspec.msgpack.encode(told),
            name=device.name,
        )


def _repeated(
    device: DeviceRow, checkin: Checkin, seen: dict[Mark, int]
) -> CheckinAnswer | Rejected | None:
    """The first answer again for the same id; a refusal for the same number under another."""
    first = seen.get((device.number, checkin.id))
    if first is not None:
        return CheckinAnswer(first, "duplicate")
    if checkin.number is not None and (device.number, checkin.number) in seen:
        return rejected(
            "repeated-number",
            Phrase(
                "check-in {number} of this device is in the log with another id. Send each number "
                "once, and the same bytes again where an answer was lost.",
                number=checkin.number,
            ),
        )
    return None

"""The learner: it owns the fold of one task and decides what may enter the log."""

import logging
import zipfile
from typing import NamedTuple

import msgspec

from crowdml.errors import Rejected
from crowdml.protocol import Checkin, CheckinAnswer, State, rejected, terms_hash
from crowdml.server.entry import LogEntry, this_minute
from crowdml.server.fold import Fold
from crowdml.server.log import Log, Mark, marks_of
from crowdml.server.published import Published
from crowdml.server.store import DeviceRow, TaskRow

__all__ = ["Arrival", "Learner"]

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

    def __init__(self, row: TaskRow, entries: Log, snapshot_every: int) -> None:
        self.id = row.id
        self.task = row.task
        self.terms = row.terms
        self.terms_sha256 = terms_hash(row.terms)
        self.devices = 0
        self._owner_state = State(row.state)
        self._log = entries
        self._snapshot_every = snapshot_every
        self.recover()

    def recover(self) -> None:
        """Rebuild the fold: the newest snapshot, then the rest of the log.

        A snapshot that cannot be read, say from another version, costs time and nothing else.
        """
        fold = Fold(self.task, self.terms_sha256)
        snapshot = self._log.snapshot()
        try:
            fold = Fold.from_bytes(self.task, self.terms_sha256, snapshot[1]) if snapshot else fold
        except (KeyError, TypeError, ValueError, zipfile.BadZipFile):
            log.warning("%s: the snapshot cannot be read; replaying the log", self.task.name)
        self._snapshot_at = fold.version
        for entry in self._log.after(fold.version):
            fold.apply(entry)
        self._fold = fold
        self._fold_is_ahead = False
        self._publish()

    def settled(self) -> Fold:
        """The fold of what is on disk, rebuilt if a commit has failed since."""
        if self._fold_is_ahead:
            self.recover()
        return self._fold

    @property
    def state(self) -> State:
        return self.published.state

    @property
    def version(self) -> int:
        return self.published.version

    def set_owner_state(self, state: State) -> None:
        """What the owner wants: running, paused or stopped."""
        if state is not self._owner_state:
            self._owner_state = state
            self._publish()

    def ingest(self, arrivals: list[Arrival]) -> list[CheckinAnswer | Rejected]:
        """Append a group of check-ins in one commit and apply them; one answer for each.

        The fold runs ahead of the commit, so that the stopping rule sees every check-in in
        turn; nothing is published before the commit, and after a failed one the fold is rebuilt.
        """
        fold = self.settled()
        seen = self._log.seen([(device.number, c.id, c.number) for device, c in arrivals])
        answers: list[CheckinAnswer | Rejected] = []
        entries: list[LogEntry] = []
        self._fold_is_ahead = True
        for device, checkin in arrivals:
            answer = _repeated(device, checkin, seen) or self._refusal(checkin)
            if answer is None:
                entry = self._entry(device, checkin)
                fold.apply(entry)
                entries.append(entry)
                seen |= dict.fromkeys(marks_of(entry.device, entry.id, entry.number), entry.seq)
                answer = CheckinAnswer(entry.seq, "applied")
            answers.append(answer)
        if entries:
            self._log.append(entries)
        self._fold_is_ahead = False
        if entries:
            self._publish()
            self._snapshot_if_due()
        return answers

    def save_snapshot(self) -> None:
        """A shortcut for the next start. Without it that takes longer, so failing is no failure."""
        fold = self.settled()
        if fold.version == self._snapshot_at:
            return
        self._snapshot_at = fold.version
        try:
            self._log.save_snapshot(fold.version, fold.to_bytes())
        except Exception:
            log.exception("%s: the snapshot was not stored; the log is whole", self.task.name)

    def _snapshot_if_due(self) -> None:
        due = self._fold.version - self._snapshot_at >= self._snapshot_every
        if due or self._fold.state.final:
            self.save_snapshot()

    def _publish(self) -> None:
        fold = self.settled()
        self.published = Published(fold.version, self._state_of(fold), fold.w)

    def _state_of(self, fold: Fold) -> State:
        """The owner may pause or stop a task that the log alone would let run."""
        return fold.state if fold.state.final else self._owner_state

    def _refusal(self, checkin: Checkin) -> Rejected | None:
        """What depends on the order of arrivals: state and staleness."""
        state, version = self._state_of(self._fold), self._fold.version
        if state.final:
            return rejected(
                "task-finished", f"the task has ended: {state}. Stop collecting.", state=state
            )
        if state is State.PAUSED:
            return rejected("task-paused", "the task is paused. Try again later.", state=state)
        if checkin.version > version:
            return rejected(
                "future-version",
                f"version must be at most {version}, found {checkin.version}. Check out again.",
                version=version,
            )
        cap = self.task.enrolment.max_staleness
        if cap is not None and version - checkin.version > cap:
            return rejected(
                "stale-version",
                f"a gradient may be at most {cap} versions late, found "
                f"{version - checkin.version}. Check out again.",
                version=version,
            )
        return None

    def _entry(self, device: DeviceRow, checkin: Checkin) -> LogEntry:
        told = msgspec.convert(checkin, self._fold.mechanism.told, from_attributes=True)
        return LogEntry(
            task=self.id,
            seq=self._fold.version + 1,
            device=device.number,
            id=checkin.id,
            at=this_minute(),
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
            f"check-in {checkin.number} of this device is in the log with another id. "
            "Send each number once, and the same bytes again where an answer was lost.",
        )
    return None

"""The learner: it owns the fold of one task and decides what may enter the log."""

import logging
import time
import zipfile
from collections import deque
from functools import cached_property
from typing import NamedTuple, TypeAlias

import msgspec
import numpy as np

from crowdml.errors import Rejected
from crowdml.protocol import (
    Checkin,
    CheckinAnswer,
    Checkout,
    State,
    Statistics,
    TaskView,
    encode_parameters,
    rejected,
    terms_hash,
)
from crowdml.server.fold import Fold
from crowdml.server.history import Point
from crowdml.server.store import DeviceRow, DuplicateCheckin, LogEntry, Store, TaskRow
from crowdml.server.totals import Totals, error_estimate, label_estimates
from crowdml.types import Array

__all__ = ["Arrival", "Course", "DeviceTotals", "Learner"]


log = logging.getLogger("crowdml.server")

Key: TypeAlias = tuple[int, str]
"""What makes a check-in one: its device and its id."""


class Arrival(NamedTuple):
    """A check-in that passed every check which needs no order."""

    device: int
    checkin: Checkin


class Course(NamedTuple):
    """How a task went so far, in a bounded number of points, and the noise behind them."""

    points: list[Point]
    minutes: dict[int, int]
    error_noise: float


class DeviceTotals(NamedTuple):
    """What one device did; times are to the minute, in seconds since 1970."""

    device: DeviceRow
    checkins: int
    samples: int
    staleness_mean: float
    newest: int | None


class Learner:
    """One task, live.

    `ingest`, `recover`, `statistics`, `course`, `devices_from` and `published_model` run in the
    store's thread, one at a time; the rest reads only what was published after a commit.
    """

    def __init__(self, row: TaskRow, store: Store, snapshot_every: int, devices: int = 0) -> None:
        self.id = row.id
        self.task = row.task
        self.terms = row.terms
        self.terms_sha256 = terms_hash(row.terms)
        self.owner_state = State(row.state)
        self.devices = devices
        self._store = store
        self._snapshot_every = snapshot_every
        self._minutes: deque[float] = deque(maxlen=10_000)
        self._newest: dict[int, tuple[Key, int]] = {}
        self._encoded = b""
        self._encoded_for: tuple[int, State] | None = None
        self.recover()

    def recover(self) -> None:
        """Rebuild the fold: the newest snapshot, then the rest of the log.

        A snapshot that cannot be read, say from another version, costs time and nothing else.
        """
        snapshot = self._store.snapshot(self.id)
        try:
            fold = Fold.from_bytes(self.task, snapshot[1]) if snapshot else Fold(self.task)
        except (KeyError, TypeError, ValueError, zipfile.BadZipFile):
            log.warning("%s: the snapshot cannot be read; replaying the log", self.task.name)
            fold, snapshot = Fold(self.task), None
        for entry in self._store.log(self.id, after=fold.version):
            fold.apply(entry)
        self._fold = fold
        self._fold_is_ahead = False
        self._snapshot_at = snapshot[0] if snapshot else 0
        self._publish()

    @property
    def state(self) -> State:
        """The state as of the last commit."""
        return self._overridden(self._state)

    @property
    def version(self) -> int:
        """The version as of the last commit."""
        return self._version

    @property
    def parameters(self) -> Array:
        """w as of the last commit."""
        return self._w

    @cached_property
    def searchable(self) -> str:
        """Everything that a search looks at, folded."""
        task, terms = self.task, self.task.terms
        words = (task.name, task.title, task.objective, terms.sensors, *terms.target.labels)
        return " ".join(words).casefold()

    def published_model(self) -> Array:
        return self._settled().published

    def ingest(self, arrivals: list[Arrival]) -> list[CheckinAnswer | Rejected]:
        """Append a group of check-ins in one commit and apply them; one answer for each.

        The fold runs ahead of the commit, so that the stopping rule sees every check-in in
        turn; nothing is published before the commit, and after a failed one the fold is rebuilt.
        """
        newcomers = [a for a in arrivals if a.device not in self._newest]
        try:
            return self._ingest(arrivals, self._known(newcomers) | self._remembered(arrivals))
        except DuplicateCheckin:
            # An id from long ago came back. The log refused it; now ask it about all of them.
            return self._ingest(arrivals, self._known(arrivals))

    def _known(self, arrivals: list[Arrival]) -> dict[Key, int]:
        """Those of the check-ins that are in the log, with their versions."""
        ids = [arrival.checkin.id for arrival in arrivals]
        return self._store.find(self.id, ids) if ids else {}

    def _remembered(self, arrivals: list[Arrival]) -> dict[Key, int]:
        """The newest check-in of each device heard since the start: what a device may resend."""
        devices = {arrival.device for arrival in arrivals}
        return dict(self._newest[device] for device in devices & self._newest.keys())

    def _ingest(
        self, arrivals: list[Arrival], known: dict[Key, int]
    ) -> list[CheckinAnswer | Rejected]:
        self._settled()
        answers: list[CheckinAnswer | Rejected] = []
        entries: list[LogEntry] = []
        try:
            for device, checkin in arrivals:
                key = (device, checkin.id)
                refusal = self._refusal(checkin)
                if refusal and key not in known:
                    known |= self._store.find(self.id, [checkin.id])
                if key in known:
                    answers.append(CheckinAnswer(known[key], "duplicate"))
                    continue
                if refusal:
                    answers.append(refusal)
                    continue
                entry = self._entry(device, checkin)
                self._fold.apply(entry)
                entries.append(entry)
                known[key] = entry.seq
                answers.append(CheckinAnswer(entry.seq, "applied"))
            if entries:
                self._store.append(entries)
        except BaseException:
            self._fold_is_ahead = True
            raise
        if entries:
            self._newest.update((e.device, ((e.device, e.id), e.seq)) for e in entries)
            self._minutes.extend([time.monotonic()] * len(entries))
            self._publish()
            self._snapshot_if_due()
        return answers

    def save_snapshot(self) -> None:
        fold = self._settled()
        if fold.version > self._snapshot_at:
            self._store.save_snapshot(self.id, fold.version, fold.to_bytes())
            self._snapshot_at = fold.version

    def checkout(self) -> tuple[str, bytes]:
        """The ETag and the body of a check-out, encoded once per version."""
        state = self.state
        if (self._version, state) != self._encoded_for:
            w = encode_parameters(self._w)
            self._encoded = msgspec.json.encode(Checkout(self._version, state, w))
            self._encoded_for = (self._version, state)
        return f'"{self._version}-{state}"', self._encoded

    def view(self) -> TaskView:
        task = self.task
        return TaskView(
            name=task.name,
            title=task.title,
            objective=task.objective,
            state=self.state,
            private=task.terms.private,
            enrolment=task.enrolment.mode,
            algorithm=task.optimizer.kind,
            version=self._version,
            devices=self.devices,
            terms=self.terms,
            terms_sha256=self.terms_sha256,
        )

    def statistics(self) -> Statistics:
        fold = self._settled()
        totals = fold.totals.sum
        checkins, samples = int(totals[Totals.CHECKINS]), int(totals[Totals.SAMPLES])
        evaluated, errors = int(totals[Totals.EVALUATED]), int(totals[Totals.ERRORS])
        epsilon = self.task.terms.epsilon_per_sample
        return Statistics(
            state=self.state,
            version=fold.version,
            devices=self.devices,
            active_devices=fold.totals.active_devices,
            samples=samples,
            error=error_estimate(errors, evaluated, checkins, fold.error_noise),
            recent_error=fold.recent_error(),
            labels=label_estimates(totals[Totals.LABELS :], samples, checkins, fold.label_noise),
            staleness_mean=fold.staleness_mean,
            staleness_max=fold.staleness_max,
            checkins_per_minute=float(self._checkins_in_last_minute()),
            epsilon_per_sample=None if np.isinf(epsilon) else epsilon,
            max_updates=self.task.stop.updates,
            target_error=self.task.stop.error,
        )

    def course(self) -> Course:
        fold = self._settled()
        points = list(fold.history.points)
        if fold.version and (not points or points[-1].version < fold.version):
            points.append(fold.point(max(fold.history.minutes)))
        return Course(points, dict(fold.history.minutes), fold.error_noise)

    def devices_from(self, first: int, most: int) -> list[DeviceTotals]:
        """The devices with the numbers from `first` on, with what they did."""
        totals = self._settled().totals
        found = []
        for device in self._store.devices(self.id, first, most):
            number = device.number
            row = totals.table[number] if number < len(totals.table) else totals.sum * 0
            checkins = int(row[Totals.CHECKINS])
            staleness = float(row[Totals.STALENESS]) / max(checkins, 1)
            newest = int(totals.minutes[number]) if checkins else None
            samples = int(row[Totals.SAMPLES])
            found.append(DeviceTotals(device, checkins, samples, staleness, newest))
        return found

    def _settled(self) -> Fold:
        """The fold of what is on disk, rebuilt if a commit has failed since."""
        if self._fold_is_ahead:
            self.recover()
        return self._fold

    def _refusal(self, checkin: Checkin) -> Rejected | None:
        """What depends on the order of arrivals: state and staleness."""
        state, version = self._overridden(self._fold.state), self._fold.version
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

    def _entry(self, device: int, checkin: Checkin) -> LogEntry:
        return LogEntry(
            task=self.id,
            seq=self._fold.version + 1,
            device=device,
            id=checkin.id,
            version=checkin.version,
            samples=checkin.samples,
            heldout=checkin.heldout,
            errors=checkin.errors,
            labels=msgspec.json.encode(checkin.labels).decode(),
            grid=checkin.grid,
            gradient=checkin.gradient,
            minute=int(time.time()) // 60 * 60,
        )

    def _publish(self) -> None:
        self._w, self._version, self._state = self._fold.w, self._fold.version, self._fold.state
        self._encoded_for = None

    def _overridden(self, state: State) -> State:
        """The owner may pause or stop a task that the log alone would let run."""
        return state if state.final else self.owner_state

    def _snapshot_if_due(self) -> None:
        due = self._fold.version - self._snapshot_at >= self._snapshot_every
        if due or self._fold.state.final:
            self.save_snapshot()

    def _checkins_in_last_minute(self) -> int:
        since = time.monotonic() - 60.0
        while self._minutes and self._minutes[0] < since:
            self._minutes.popleft()
        return len(self._minutes)

"""Fold the log: compute the whole state of a task from its log and nothing else."""

import io
from collections import Counter
from typing import Any

import msgspec
import numpy as np

from crowdml.learning import CheckinStep, Evidence, LearningState, Reports, Totals, current_error
from crowdml.optim import read_state
from crowdml.privacy import CheckinKey, Unit
from crowdml.protocol import Estimate, State, Task
from crowdml.server.database import LogEntry
from crowdml.server.log.active_devices import ActiveDevices
from crowdml.server.log.history import HistoryRecorder, Point, error_is_due
from crowdml.types import Array

PARTS = {"w", "totals", "active", "reports", "numbers", "evidence", "lengths"}


class Fold:
    """Read the log one entry at a time, and pass each entry to the step.

    What the step knows is one immutable value, `learning`; the fold replaces it as a whole.

    Paper: Algorithm 2.
    """

    def __init__(self, task: Task, terms_sha256: str) -> None:
        self.task = task
        self.model = task.terms.make_model()
        self.mechanism = task.terms.mechanism()
        self.step = CheckinStep.of(task, self.mechanism)
        unpublished = self.mechanism.unit is Unit.CHECKIN
        totals = Totals((0.0,) * self.model.n_classes, None if unpublished else 0)
        self.learning: LearningState = self.step.start(self.model.size, totals, task.w0)
        self.active = ActiveDevices()
        self.history = HistoryRecorder()
        self._reopened: frozenset[int] = frozenset()
        self.end = task.t_max
        self._payload_decoder = msgspec.msgpack.Decoder(self.mechanism.payload_type)
        self.terms_sha256 = terms_sha256

    def apply(self, *entries: LogEntry) -> None:
        """Apply entries in turn: add the counts, take one step, and check the target.

        Entries after the end of the task are ignored.
        """
        first = self.version
        payloads = [self._payload_decoder.decode(entry.payload) for entry in entries]
        keys = [CheckinKey(self.terms_sha256, entry.name, entry.number or 0) for entry in entries]
        for entry, estimates in zip(entries, self.mechanism.read_all(payloads, keys), strict=True):
            if self.learning.reached or self.version >= self.end:
                break
            self.learning = self.step(
                self.learning, estimates, entry.device, entry.samples, entry.staleness
            )
            self._reopen()
            self.active.add(entry.device)
            if self.history.is_due(entry.seq):
                self.history.add(self.current_point())
            if error_is_due(entry.seq):
                self.history.add_error(entry.seq, self.error())
        applied = entries[: self.version - first]
        self.history.count(Counter([entry.at for entry in applied]))

    @property
    def version(self) -> int:
        return self.learning.version

    @property
    def w(self) -> Array:
        return self.learning.w

    def current_point(self) -> Point:
        """Return the sums at this version."""
        return Point(self.version, self.learning.totals.staleness, self.active.count)

    def error(self) -> Estimate | None:
        """Return the error of the exported model at this version."""
        reports = self.learning.reports.clustered
        return current_error(reports, self.version, self.mechanism.error_variance)

    @property
    def state(self) -> State:
        """Return the state by the log alone; the owner may also have paused or stopped the task."""
        if self.learning.reached:
            return State.REACHED
        return State.EXHAUSTED if self.version >= self.end else State.RUNNING

    @property
    def exported(self) -> Array:
        """Return the model to export: w, or the average of iterates where the task asks for it."""
        return self.step.optimizer.model(self.learning.optimizer, self.w)

    def reopen_at(self, versions: str) -> None:
        """Set after which check-ins the owner reopened the task, which had ended there.

        A task that had ended by T_max goes on for T_max more check-ins.
        """
        self._reopened = frozenset(map(int, versions.split()))
        self.end = self.task.t_max
        for version in sorted(self._reopened):
            if version >= self.end:
                self.end = version + self.task.t_max
        self._reopen()

    def _reopen(self) -> None:
        """Discard earlier reports if the task was reopened at this version."""
        if self._reopened and self.version in self._reopened:
            self.learning = self.learning._replace(reached=False, evidence=self.step.no_evidence)

    def to_bytes(self) -> bytes:
        """Write a snapshot: an npz archive of plain arrays, without pickle."""
        now = self.learning
        arrays: dict[str, Any] = {f"optimizer_{k}": v for k, v in now.optimizer.items()}
        arrays |= {
            "w": now.w,
            "totals": now.totals.to_array(),
            "active": self.active.to_array(),
            "reports": now.reports.rows,
            "numbers": np.array([now.version, now.staleness_max, now.reached]),
        }
        if now.evidence is not None:
            arrays["evidence"] = now.evidence.to_array()
        if now.usual is not None:
            arrays["lengths"] = now.usual.to_array()
        arrays |= {f"history_{k}": v for k, v in self.history.to_arrays().items()}
        buffer = io.BytesIO()
        np.savez(buffer, **arrays)
        return buffer.getvalue()

    @classmethod
    def from_bytes(cls, task: Task, terms_sha256: str, data: bytes) -> "Fold":
        fold = cls(task, terms_sha256)
        with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
            strange = [n for n in arrays if n not in PARTS and not n.startswith(("opt", "hist"))]
            if strange:
                raise ValueError(f"a snapshot must have the parts of a fold, found {strange}.")
            fold.history = HistoryRecorder.from_arrays(**_prefixed("history_", arrays))
            fold.active = ActiveDevices(arrays["active"])
            fold.learning = _learning(fold, arrays)
        return fold


def _learning(fold: Fold, arrays: Any) -> LearningState:
    start, stopping = fold.learning, fold.step.stopping
    totals = Totals.from_array(arrays["totals"])
    found, expected = len(totals.labels), len(start.totals.labels)
    if found != expected:
        raise ValueError(f"totals must count {expected} labels, found {found}.")
    usual, evidence = start.usual, start.evidence
    if usual is not None and "lengths" in arrays:
        usual = usual.with_lengths(arrays["lengths"])
    if stopping is not None and "evidence" in arrays:
        evidence = Evidence.from_array(stopping, arrays["evidence"])
    version, staleness_max, reached = (int(number) for number in arrays["numbers"])
    return LearningState(
        version=version,
        w=arrays["w"],
        optimizer=read_state(_prefixed("optimizer_", arrays)),
        totals=totals,
        reports=Reports(arrays["reports"]),
        usual=usual,
        evidence=evidence,
        reached=bool(reached),
        staleness_max=staleness_max,
    )


def _prefixed(prefix: str, arrays: Any) -> dict[str, Any]:
    return {name.removeprefix(prefix): arrays[name] for name in arrays if name.startswith(prefix)}

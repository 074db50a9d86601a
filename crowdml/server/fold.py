"""The fold: the whole state of a task as a function of its log, and of nothing else."""

import io
import math
from typing import Any

import msgspec
import numpy as np

from crowdml.optim import State as OptimizerState
from crowdml.optim import UsualLength
from crowdml.privacy import Mechanism, Place, Reading, Unit
from crowdml.protocol import Estimate, State, Task
from crowdml.server.active import ActiveDevices
from crowdml.server.entry import LogEntry
from crowdml.server.evidence import Evidence
from crowdml.server.history import History, Point
from crowdml.server.totals import Totals, error_estimate
from crowdml.server.window import Window
from crowdml.types import Array

__all__ = ["Fold", "first_limit"]

PARTS = {"w", "totals", "active", "window", "numbers", "evidence", "lengths"}


class Fold:
    """Server Routine 2, one log entry at a time.

    w starts at zero: the risks are convex, and a start that needs no randomness makes the fold
    reproducible by anyone who has the log.

    Args:
        task: What is learnt, and how.
        terms_sha256: The hash of its terms as devices have pinned them.

    Paper: Algorithm 2.
    """

    def __init__(self, task: Task, terms_sha256: str) -> None:
        self.task = task
        self.model = task.terms.make_model()
        self.optimizer = task.make_optimizer()
        self.w: Array = np.zeros(self.model.size)
        self.optimizer_state: OptimizerState = self.optimizer.init(self.w)
        self.version = 0
        self.active = ActiveDevices()
        self.window = Window(task.stop.window)
        self.history = History()
        self.staleness_max = 0
        self.reached = False
        self._reopened: frozenset[int] = frozenset()
        self.mechanism = task.terms.mechanism()
        untold = self.mechanism.unit is Unit.CHECKIN
        self.usual = None if untold else UsualLength(first_limit(self.mechanism))
        self.totals = Totals([0.0] * self.model.n_classes, None if untold else 0)
        self._told = msgspec.msgpack.Decoder(self.mechanism.told)
        self.terms_sha256 = terms_sha256
        self.evidence = None if task.stop.error is None else Evidence(task, self.mechanism)

    def apply(self, *entries: LogEntry) -> None:
        """Of each in turn, add the counts, take one step, and see whether the target is reached.

        Those that follow the end of the task are left out.
        """
        told = [self._told.decode(entry.told) for entry in entries]
        places = [Place(self.terms_sha256, entry.name, entry.number or 0) for entry in entries]
        for entry, reading in zip(entries, self.mechanism.read_all(told, places), strict=True):
            self._reopen()
            if self.state.final:
                return
            self._apply(entry, reading)
        self._reopen()

    def _apply(self, entry: LogEntry, reading: Reading) -> None:
        self.totals.add(entry, reading)
        self.active.add(entry.device)
        g = reading.g
        if g is not None:
            g = g if self.usual is None else self.usual.shortened(g)
            self.optimizer_state, self.w = self.optimizer.update(
                self.optimizer_state, self.w, g, entry.device
            )
        self.staleness_max = max(self.staleness_max, entry.staleness)
        if reading.evaluated:
            self.window.add(reading.errors, reading.evaluated)
            if self.evidence is not None:
                self.evidence.add(entry.device, reading.counted, reading.evaluated)
                self.reached = self.reached or self.evidence.conclusive
        self.version = entry.seq
        self.history.count(entry.at)
        if self.history.wants(entry.seq):
            self.history.add(self.point())

    @property
    def staleness_mean(self) -> float:
        return self.totals.staleness / max(self.version, 1)

    def point(self) -> Point:
        """Where the task is now."""
        return Point(
            version=self.version,
            errors=self.totals.errors,
            evaluated=self.totals.evaluated,
            evaluations=self.totals.evaluations,
            recent_errors=self.window.sum[0],
            recent_evaluated=self.window.sum[1],
            recent_checkins=len(self.window),
            staleness=self.totals.staleness,
            active_devices=self.active.count,
        )

    @property
    def state(self) -> State:
        """What the log alone says; the owner may have paused or stopped the task besides."""
        if self.reached:
            return State.REACHED
        return State.EXHAUSTED if self.version >= self.task.t_max else State.RUNNING

    @property
    def learnt(self) -> Array:
        """The model to export: w, or the average of iterates where the task asks for it."""
        return self.optimizer.model(self.optimizer_state, self.w)

    def recent_error(self) -> Estimate | None:
        """The error over the window of the last check-ins that evaluate."""
        errors, evaluated = self.window.sum
        return error_estimate(errors, evaluated, len(self.window), self.mechanism.error_variance)

    def reopen_at(self, places: str) -> None:
        """After these check-ins the owner did not believe that the target was reached."""
        self._reopened = frozenset(map(int, places.split()))
        self._reopen()

    def _reopen(self) -> None:
        """Look at new reports alone, if this is such a place."""
        if self.version in self._reopened:
            self.reached = False
            if self.evidence is not None:
                self.evidence.clear()

    def to_bytes(self) -> bytes:
        """A snapshot: an npz archive of plain arrays, no pickle."""
        arrays: dict[str, Any] = {f"optimizer_{k}": v for k, v in self.optimizer_state.items()}
        arrays |= {
            "w": self.w,
            "totals": self.totals.to_array(),
            "active": self.active.to_array(),
            "window": self.window.to_array(),
            "numbers": np.array([self.version, self.staleness_max, self.reached]),
        }
        if self.evidence is not None:
            arrays["evidence"] = self.evidence.to_array()
        if self.usual is not None:
            arrays["lengths"] = self.usual.to_array()
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
            fold.optimizer_state = _prefixed("optimizer_", arrays)
            fold.history = History.from_arrays(**_prefixed("history_", arrays))
            fold.w = arrays["w"]
            fold.totals = Totals.from_array(arrays["totals"])
            found, expected = len(fold.totals.labels), task.terms.n_classes
            if found != expected:
                raise ValueError(f"totals must count {expected} labels, found {found}.")
            fold.active = ActiveDevices(arrays["active"])
            fold.window = Window.from_array(task.stop.window, arrays["window"])
            if fold.evidence is not None and "evidence" in arrays:
                fold.evidence.restore(arrays["evidence"])
            if fold.usual is not None and "lengths" in arrays:
                fold.usual.restore(arrays["lengths"])
            numbers = [int(number) for number in arrays["numbers"]]
        fold.version, fold.staleness_max = numbers[:2]
        fold.reached = bool(numbers[2])
        return fold


def first_limit(mechanism: Mechanism) -> float:
    """No honest gradient is longer at the start, but for a noise that is three times the usual."""
    return mechanism.length + 3 * math.sqrt(mechanism.noise_energy)


def _prefixed(prefix: str, arrays: Any) -> dict[str, Any]:
    return {name.removeprefix(prefix): arrays[name] for name in arrays if name.startswith(prefix)}

"""Provide a server in memory, honest or not, and noise that records what it was asked for."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from crowdml.device import CheckedOut, Device, RetryTimer
from crowdml.errors import Rejected
from crowdml.learnt import LearntModel, write_model
from crowdml.privacy import Role, SystemChance
from crowdml.protocol import (
    CheckinAnswer,
    Checkout,
    Enrol,
    Enrolled,
    State,
    Task,
    TaskView,
    checkin_type,
    encode_parameters,
    terms_hash,
)
from crowdml.types import Array, Ints
from tests.support.checkins import DirectionCheckin, NoiseCheckin


class MemoryTransport:
    """Answer as an honest server without a network; `before` and `after` are faults to come.

    A fault of `before` is raised when a check-in is about to be received, one of `after` when it
    has been received and applied but not yet answered.
    """

    def __init__(self, task: Task) -> None:
        self.task_view = task
        self.terms = task.terms.text
        self.state = State.RUNNING
        self.parameters = encode_parameters(np.zeros(task.terms.make_model().size))
        self.exported: bytes | None = None
        self.roles: list[Role | None] = []
        self.down: Exception | None = None
        self.before: list[Exception] = []
        self.after: list[Exception] = []
        self.bodies: list[bytes] = []
        self.applied: dict[str, int] = {}
        self.checkouts = 0
        self.enrolled = 0
        self.left: list[str] = []
        self.model: LearntModel | None = None

    @property
    def messages(self) -> list[NoiseCheckin]:
        return [msgspec.json.decode(body, type=NoiseCheckin) for body in self.bodies]

    @property
    def directed(self) -> list[DirectionCheckin]:
        return [msgspec.json.decode(body, type=DirectionCheckin) for body in self.bodies]

    def task(self) -> TaskView:
        self._answer()
        task = self.task_view
        return TaskView(
            name=task.name,
            title=task.title,
            objective=task.objective,
            state=self.state,
            private=task.terms.private,
            enrolment="open",
            algorithm="sgd",
            version=len(self.applied),
            devices=self.enrolled,
            terms=self.terms,
            terms_sha256=terms_hash(self.terms),
        )

    def enrol(self, message: Enrol) -> Enrolled:
        self._answer()
        self.enrolled += 1
        return Enrolled(f"device-{self.enrolled}", f"token-{self.enrolled}")

    def checkout(self, token: str, role: Role | None = None) -> CheckedOut:
        self._answer()
        self.checkouts += 1
        self.roles.append(role)
        checkout = Checkout(len(self.applied), self.state, self.parameters, self.exported)
        return CheckedOut(checkout, terms_hash(self.terms))

    def checkin(self, token: str, body: bytes) -> CheckinAnswer:
        self._answer()
        if self.before:
            raise self.before.pop(0)
        self.bodies.append(body)
        message = msgspec.json.decode(
            body, type=checkin_type(self.task_view.terms.mechanism().payload_type)
        )
        if message.terms != terms_hash(self.terms):
            raise Rejected("terms-changed", 409, "the terms are others now")
        known = message.id in self.applied
        version = self.applied.setdefault(message.id, len(self.applied) + 1)
        if self.after:
            raise self.after.pop(0)
        return CheckinAnswer(version, "duplicate" if known else "applied")

    def leave(self, token: str) -> None:
        self._answer()
        self.left.append(token)

    def export(self) -> bytes:
        self._answer()
        if self.model is None:
            raise Rejected("not-found", 404, "nothing is learnt yet")
        return write_model(self.model, "json")

    def close(self) -> None:
        pass

    def _answer(self) -> None:
        if self.down:
            raise self.down


class SilentChance(SystemChance):
    """Add nothing, so that a test sees what the noise would have hidden, and at which scale."""

    def __init__(self) -> None:
        self.scales: list[tuple[int, float]] = []

    def add_laplace(self, values: Ints, scale: float) -> Ints:
        self.scales.append((len(values), scale))
        return values


def join(
    file: Path,
    transport: MemoryTransport,
    on_step: Callable[[str], None] = lambda step: None,
    **options: Any,
) -> Device:
    """Join the server in memory with a device that retries without waiting."""
    options.setdefault("retry_timer", RetryTimer(base=0.0, slot=0.0))
    return Device.join(
        "https://crowd.example", transport.task_view.name, file=file,
        transport=transport, on_step=on_step, **options,
    )  # fmt: skip


def one_hot(index: int, size: int) -> Array:
    """Make a sample that shows in the gradient: softmax's is non-zero only in its column."""
    x = np.zeros(size)
    x[index] = 1.0
    return x

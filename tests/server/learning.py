"""Learners on a real database, check-ins for them, and the slow way to the same result."""

import io

import msgspec
import numpy as np

from crowdml.protocol import Checkin, Task
from crowdml.server import Store
from crowdml.server.fold import Fold
from crowdml.server.learner import Arrival, Learner
from tests.servers import checkin

__all__ = ["arrivals", "assert_same", "new_learner", "reopened", "replayed"]


def arrivals(task: Task, n: int, first: int = 0, n_devices: int = 3) -> list[Arrival]:
    bodies = (checkin(task, first + i, samples=3 + i % 5) for i in range(n))
    decoded = (msgspec.json.decode(body, type=Checkin) for body in bodies)
    return [Arrival(i % n_devices, message) for i, message in enumerate(decoded)]


def new_learner(store: Store, task: Task, snapshot_every: int = 1000) -> Learner:
    store.create_task(task)
    return reopened(store, task, snapshot_every)


def reopened(store: Store, task: Task, snapshot_every: int = 1000) -> Learner:
    row = store.task(task.name)
    return Learner(row, store.log(row.id), snapshot_every)


def replayed(store: Store, task: Task) -> Fold:
    fold = Fold(task)
    for entry in store.log(store.task(task.name).id):
        fold.apply(entry)
    return fold


def assert_same(found: Fold, expected: Fold) -> None:
    """Bit for bit, nothing left out."""
    with (
        np.load(io.BytesIO(found.to_bytes())) as a,
        np.load(io.BytesIO(expected.to_bytes())) as b,
    ):
        assert set(a) == set(b)
        for name in a:
            assert a[name].dtype == b[name].dtype
            assert a[name].tobytes() == b[name].tobytes(), name
    assert found.learnt.tobytes() == expected.learnt.tobytes()
    assert found.totals == expected.totals
    assert found.active.count == expected.active.count
    assert found.window.sum == expected.window.sum
    assert found.state == expected.state

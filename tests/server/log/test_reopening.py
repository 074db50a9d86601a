"""Test that an owner who doubts a reached target continues the task, the same on every node."""

from pathlib import Path

import numpy as np
import pytest

from crowdml.errors import InvalidInput, Rejected
from crowdml.protocol import CheckinAnswer, State, Task
from crowdml.server import Store
from crowdml.server.log.decision import Arrival
from crowdml.server.log.learner import Learner
from tests.server.known_crowds import miscounting
from tests.server.learners import arrivals, assert_same, changed, new_learner, reopened
from tests.support.servers import make_task


def target() -> Task:
    return make_task(
        privacy__epsilon=float("inf"),
        stop__error=0.5,
        stop__samples=60,
        stop__updates=500,
        stop__window=40,
    )


def good(task: Task, n: int, first: int = 0, error: float = 0.0) -> list[Arrival]:
    """Make check-ins of twenty devices in turn."""
    crowd = miscounting(task, n, error, np.random.default_rng(first), samples=3)
    return [
        changed(
            arrival._replace(device=crowd[i % 20].device),
            id=f"checkin-{first + i:016}",
            errors=round(3 * error),
        )
        for i, arrival in enumerate(crowd)
    ]


def reached(store: Store, task: Task) -> Learner:
    learner = new_learner(store, task, snapshot_every=7, n=40)
    learner.ingest(good(task, 40))
    assert (learner.version, learner.state) == (20, State.REACHED)
    return learner


def test_a_task_goes_on_until_it_is_reached_again(store: Store) -> None:
    task = target()
    learner = reached(store, task)
    learner.reopen("ada")
    assert learner.state is State.RUNNING
    bad = learner.ingest(good(task, 30, first=100, error=1.0))
    assert all(isinstance(answer, CheckinAnswer) for answer in bad), "what was before is forgotten"
    again = learner.ingest(good(task, 400, first=200))
    assert isinstance(again[0], CheckinAnswer)
    assert isinstance(again[-1], Rejected)
    assert again[-1].extra == {"state": State.REACHED}, "and new reports count"
    assert [str(a.action) for a in store.owners.actions(task.name)] == ["reopened", "created"]
    assert str(store.owners.actions(task.name)[0].detail) == "after check-in 20"


def test_every_node_comes_to_the_same(store: Store, tmp_path: Path) -> None:
    """Compare a node that took part, one that learnt of it late, and one that folds the log."""
    task = target()
    learner = reached(store, task)
    other = reopened(store, task)
    assert other.state is State.REACHED
    learner.reopen("ada")
    learner.ingest(good(task, 30, first=100, error=1.0))
    answers = other.ingest(good(task, 1, first=900))
    assert isinstance(answers[0], CheckinAnswer), "it heard when its turn came"
    learner.refresh()
    learner.ingest(good(task, 400, first=200))
    assert learner.state is State.REACHED
    learner.reopen("ada")
    learner.ingest(good(task, 5, first=700))
    other.refresh(store.task(task.name).owner_settings)
    assert_same(other.committed_fold(), learner.committed_fold())
    with store._database.writing() as connection:
        connection.exec_driver_sql("DELETE FROM snapshots")
    assert_same(reopened(store, task).committed_fold(), learner.committed_fold())
    assert len(store.task(task.name).owner_settings.reopened.split()) == 2


def test_a_task_that_made_all_its_check_ins_goes_on_for_as_many(store: Store) -> None:
    task = make_task(stop__updates=5)
    learner = new_learner(store, task, snapshot_every=3)
    learner.ingest(arrivals(task, 7))
    assert (learner.version, learner.state) == (5, State.EXHAUSTED)
    learner.reopen("ada")
    assert (learner.state, learner.published.statistics(0, 0.0).max_updates) == (State.RUNNING, 10)
    other = reopened(store, task)
    learner.ingest(arrivals(task, 3, first=7))
    assert (learner.version, learner.state) == (8, State.RUNNING)
    answers = other.ingest(arrivals(task, 3, first=10))
    assert [isinstance(answer, CheckinAnswer) for answer in answers] == [True, True, False]
    assert (other.version, other.state) == (10, State.EXHAUSTED)
    learner.refresh()
    learner.reopen("ada")
    learner.ingest(arrivals(task, 1, first=13))
    assert (learner.version, learner.state) == (11, State.RUNNING)
    with store._database.writing() as connection:
        connection.exec_driver_sql("DELETE FROM snapshots")
    assert_same(reopened(store, task).committed_fold(), learner.committed_fold())


def test_only_a_reached_task_is_reopened(store: Store) -> None:
    task = target()
    learner = new_learner(store, task, n=40)
    with pytest.raises(InvalidInput, match="activity is running"):
        learner.reopen("ada")
    learner.ingest(good(task, 20))
    learner.reopen("ada")
    with pytest.raises(InvalidInput, match="activity is running"):
        learner.reopen("ada")
    store.set_task_state(task.name, "stopped")
    learner.refresh(store.task(task.name).owner_settings)
    with pytest.raises(InvalidInput, match="activity is stopped"):
        learner.reopen("ada")


def test_a_paused_task_stays_paused(store: Store) -> None:
    task = target()
    learner = reached(store, task)
    store.set_task_state(task.name, "paused")
    learner.reopen("ada")
    assert learner.state is State.PAUSED
    (answer,) = learner.ingest(good(task, 1, first=100))
    assert isinstance(answer, Rejected)
    assert answer.kind == "task-paused"

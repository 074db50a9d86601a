"""Test that owners edit tasks and delete unstarted ones: all nodes follow, nothing is lost."""

import time
from collections.abc import Iterator
from contextlib import ExitStack, closing

import pytest

from crowdml.errors import InvalidInput, InvalidTask, Rejected
from crowdml.protocol import CheckinAnswer, Task
from crowdml.server import Store
from crowdml.server.log.learner import Learner
from tests.server.learners import arrivals, assert_same, enlist, replayed
from tests.support.servers import PATIENCE, FaultyServer, Start, make_direction_task, problem_kind

TASK = make_direction_task(optimizer__c=None, stop__updates=1000)


class Node:
    def __init__(self, database: str) -> None:
        self.store = Store(database)
        row = self.store.task("activity")
        self.learner = Learner(row, self.store.log(row.id), snapshot_every=10)


@pytest.fixture
def nodes(database: str) -> Iterator[tuple[Node, Node]]:
    with ExitStack() as stack:
        with closing(Store(database)) as store:
            store.create_task(TASK)
            enlist(store, TASK)
        pair = Node(database), Node(database)
        for node in pair:
            stack.callback(node.store.close)
        yield pair


def edited(task: Task) -> tuple[str, str, int | None, float | None]:
    return task.title, task.objective, task.stop.updates, task.stop.error


def test_another_node_follows_an_edit_in_its_next_turn(nodes: tuple[Node, Node]) -> None:
    one, other = nodes
    changes = {"title": "Steps", "objective": "To count.", "stop.updates": 12, "stop.error": 0.2}
    task = one.store.edit_task("activity", changes, by="ada")
    assert edited(task) == ("Steps", "To count.", 12, 0.2)
    assert task.terms == TASK.terms
    answers = other.learner.ingest(arrivals(TASK, 20))
    assert [isinstance(answer, CheckinAnswer) for answer in answers] == 12 * [True] + 8 * [False]
    assert other.learner.task == task
    one.learner.refresh(one.store.task("activity").owner_settings)
    for node in nodes:
        assert_same(node.learner.committed_fold(), replayed(node.store, task))
    action = one.store.owners.actions("activity")[0]
    assert (action.owner, str(action.action)) == ("ada", "edited")
    assert "title: Activity → Steps; " in str(action.detail)
    assert str(action.detail).endswith("stop.updates: 1000 → 12; stop.error: None → 0.2")


def test_the_end_is_fixed_by_the_first_check_in(nodes: tuple[Node, Node]) -> None:
    one, other = nodes
    other.learner.ingest(arrivals(TASK, 3))
    with pytest.raises(InvalidTask) as rejected:
        one.store.edit_task("activity", {"title": "Steps", "stop.updates": 12, "stop.error": 0.2})
    assert [mistake.field for mistake in rejected.value.mistakes] == ["stop.updates", "stop.error"]
    assert one.store.task("activity").task == TASK
    one.store.edit_task("activity", {"title": "Steps"})
    one.store.edit_task("activity", {"title": "Steps", "stop.updates": 1000})
    assert [str(a.action) for a in one.store.owners.actions("activity")] == ["edited", "created"]
    fold = other.learner.committed_fold()
    other.learner.refresh(other.store.task("activity").owner_settings)
    assert other.learner.task.title == fold.task.title == "Steps"
    assert other.learner.committed_fold() is fold


def test_an_edit_is_judged_like_a_task_file(nodes: tuple[Node, Node]) -> None:
    wrong = {"title": "", "objective": "x" * 2001, "stop.updates": None, "stop.error": 2.0}
    with pytest.raises(InvalidTask) as rejected:
        nodes[0].store.edit_task("activity", wrong)
    assert {mistake.field for mistake in rejected.value.mistakes} == set(wrong)
    assert nodes[0].store.task("activity").task == TASK


def test_a_deleted_task_is_gone_for_every_node(nodes: tuple[Node, Node]) -> None:
    one, other = nodes
    before = one.store.task("activity")
    one.store.invites.create(before.id, 5)
    joined = one.store.count_devices(before.id)
    assert one.store.delete_task("activity", by="ada") == joined > 0
    with pytest.raises(Rejected) as rejected:
        other.learner.ingest(arrivals(TASK, 1))
    assert rejected.value.kind == "not-found"
    with pytest.raises(Rejected, match="deleted"):
        other.store.enrol(before.id, None, invite_required=False)
    assert other.store.tasks() == []
    assert other.store.owner_settings() == {}
    assert (other.store.devices(before.id), other.store.invites.count(before.id)) == ([], 0)
    again = other.store.create_task(TASK)
    assert again.id > before.id, "devices of the old task must be none of the new one"
    actions = one.store.owners.actions("activity")
    assert [str(action.action) for action in actions[:3]] == ["created", "deleted", "invited"]
    assert str(actions[1].detail) == f"{joined} devices had joined"


def test_a_task_that_began_stays(nodes: tuple[Node, Node]) -> None:
    one, other = nodes
    other.learner.ingest(arrivals(TASK, 1))
    with pytest.raises(InvalidInput, match="only a task without check-ins"):
        one.store.delete_task("activity")
    assert len(other.store.log(other.learner.id)) == 1
    with pytest.raises(InvalidInput, match="there is no task"):
        one.store.delete_task("another")


def test_a_running_server_follows(start: Start) -> None:
    process: FaultyServer = start(TASK, make_direction_task("other"))
    with process.connected() as wire, process.store() as store:
        store.edit_task("activity", {"title": "Steps"})
        store.delete_task("other")
        deadline = time.monotonic() + PATIENCE
        while (gone := wire.call("GET", "/v1/tasks/other")).status != 404:
            assert time.monotonic() < deadline
        assert problem_kind(gone) == "not-found"
        (view,) = wire.call("GET", "/v1/tasks").json()["tasks"]
        assert (view["name"], view["title"]) == ("activity", "Steps")
        store.create_task(make_direction_task("other"))

"""Test several processes on one database, as several learners with a store each."""

import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing

import pytest

from crowdml.errors import CrowdmlError, Rejected
from crowdml.protocol import CheckinAnswer, Task
from crowdml.server import Store
from crowdml.server.database.log import DROPPED_PAYLOAD
from crowdml.server.log.decision import Arrival
from crowdml.server.log.learner import Learner
from tests.server.learners import arrivals, assert_same, changed, enlist, replayed
from tests.support.servers import make_direction_task, make_task

TASKS = {"laplace": make_task(), "direction": make_direction_task(collection__checkins=30)}


class Node:
    """Hold one process's store and learner for a task."""

    def __init__(self, database: str, **settings: bool) -> None:
        self.store = Store(database)
        row = self.store.task("activity")
        self.learner = Learner(row, self.store.log(row.id), snapshot_every=10, **settings)

    def versions(self, some: list[Arrival]) -> list[int]:
        answers = self.learner.ingest(some)
        assert all(isinstance(answer, CheckinAnswer) for answer in answers), answers
        return [answer.version for answer in answers if isinstance(answer, CheckinAnswer)]


@pytest.fixture(params=TASKS)
def task(request: pytest.FixtureRequest, database: str) -> Task:
    task = TASKS[request.param]
    with closing(Store(database)) as store:
        store.create_task(task)
        enlist(store, task)
    return task


@pytest.fixture
def pair(database: str, task: Task) -> Iterator[tuple[Node, Node]]:
    with ExitStack() as stack:
        nodes = Node(database), Node(database)
        for node in nodes:
            stack.callback(node.store.close)
        yield nodes


def test_nodes_that_take_turns_have_one_log_and_one_model(
    pair: tuple[Node, Node], task: Task
) -> None:
    some, first = arrivals(task, 60), 0
    for i, n in enumerate((1, 5, 1, 13, 20, 20)):
        group, first = some[first : first + n], first + n
        assert pair[i % 2].versions(group) == list(range(first - n + 1, first + 1))
    pair[0].learner.refresh()
    assert pair[0].learner.published.etag() == pair[1].learner.published.etag()
    for node in pair:
        assert_same(node.learner.committed_fold(), replayed(node.store, task))


def test_nodes_that_write_at_once_leave_no_gap(pair: tuple[Node, Node], task: Task) -> None:
    some = arrivals(task, 80)
    halves = [[one for one in some if one.device.number % 2 == i] for i in range(2)]
    found: tuple[list[int], list[int]] = ([], [])

    def work(i: int) -> None:
        for start in range(0, len(halves[i]), 4):
            found[i].extend(pair[i].versions(halves[i][start : start + 4]))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found[0] + found[1]) == list(range(1, 81))
    for node in pair:
        node.learner.refresh()
        assert_same(node.learner.committed_fold(), replayed(node.store, task))


def test_the_same_check_in_at_both_counts_once(pair: tuple[Node, Node], task: Task) -> None:
    (one,) = arrivals(task, 1)
    answers = [node.learner.ingest([one])[0] for node in pair]
    assert answers == [CheckinAnswer(1, "applied"), CheckinAnswer(1, "duplicate")]


def test_a_version_that_a_node_has_not_seen_makes_it_catch_up(
    pair: tuple[Node, Node], task: Task
) -> None:
    some = arrivals(task, 4)
    assert pair[0].versions(some[:3]) == [1, 2, 3]
    assert pair[1].learner.version == 0
    assert pair[1].versions([changed(some[3], version=3)]) == [4]
    (rejected,) = pair[1].learner.ingest([changed(arrivals(task, 1, first=4)[0], version=9)])
    assert isinstance(rejected, Rejected)
    assert rejected.kind == "future-version"


def test_a_pause_at_one_holds_at_the_other_at_once(pair: tuple[Node, Node], task: Task) -> None:
    pair[0].store.set_task_state("activity", "paused")
    (rejected,) = pair[1].learner.ingest(arrivals(task, 1))
    assert isinstance(rejected, Rejected)
    assert rejected.kind == "task-paused"


def test_check_ins_a_minute_are_counted_over_all_nodes(database: str) -> None:
    task = make_task(enrolment__checkins_per_minute=5)
    with closing(Store(database)) as store:
        store.create_task(task)
        (device,) = enlist(store, task, 1)
    nodes = Node(database), Node(database)
    some = arrivals(task, 40, [device])
    answers = [nodes[i % 2].learner.ingest([one])[0] for i, one in enumerate(some)]
    rejected = [answer for answer in answers if isinstance(answer, Rejected)]
    # A minute may end in between, and then there is room for the same number again.
    assert 10 <= len(rejected) <= 25
    assert {answer.kind for answer in rejected} == {"too-frequent"}
    assert all(0 < answer.extra["retry_after"] <= 60 for answer in rejected)
    for node in nodes:
        node.store.close()


def test_payloads_are_dropped_and_a_late_node_catches_up(database: str, task: Task) -> None:
    late, busy = Node(database), Node(database, keep_payloads=False)
    some = arrivals(task, 90)
    late.versions(some[:2])
    for start in range(2, 90, 8):
        busy.versions(some[start : start + 8])
    kept = [entry.payload != DROPPED_PAYLOAD for entry in busy.store.log(busy.learner.id)]
    assert len(kept) == 90
    assert 8 <= sum(kept) <= 16, "those since the snapshot before the newest"
    assert kept == sorted(kept), "the newest are kept"
    late.learner.refresh()
    assert_same(late.learner.committed_fold(), busy.learner.committed_fold())
    new = Node(database)
    assert_same(new.learner.committed_fold(), busy.learner.committed_fold())
    damage(busy.store, newest=True)
    after = Node(database)
    assert_same(after.learner.committed_fold(), busy.learner.committed_fold())
    damage(busy.store, newest=False)
    with pytest.raises(CrowdmlError, match=r"snapshots of activity cannot be read.*backup"):
        Node(database)
    for node in (late, busy, new, after):
        node.store.close()


def damage(store: Store, newest: bool) -> None:
    seq = "max(seq)" if newest else "min(seq)"
    with store._database.writing() as connection:
        connection.exec_driver_sql(
            f"UPDATE snapshots SET fold = 'x' WHERE seq = (SELECT {seq} FROM snapshots)"
            if connection.dialect.name == "sqlite"
            else f"UPDATE snapshots SET fold = '\\x00' WHERE seq = (SELECT {seq} FROM snapshots)"
        )

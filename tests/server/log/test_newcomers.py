"""Test that joining again and again from one network allows no more than one device may send."""

import time
from contextlib import closing

import pytest
import sqlalchemy as sa

from crowdml.errors import Rejected
from crowdml.protocol import CheckinAnswer, State, Task
from crowdml.server import Store
from crowdml.server.database import DAY, schema
from crowdml.server.database.log_entry import this_minute
from crowdml.server.database.store import DeviceRow
from crowdml.server.log.learner import Learner
from crowdml.server.results.task_view import crowded_joins
from crowdml.server.throttle import BURST
from tests.server.learners import arrivals, changed, reopened
from tests.support.servers import make_task

ADDRESS = "203.0.113.5"
PACE = 60
TASK = make_task(stop__updates=150, enrolment__checkins_per_minute=None)


@pytest.fixture(autouse=True)
def _within_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the minute from ending between two check-ins."""
    now = this_minute()
    monkeypatch.setattr("crowdml.server.log.decision.this_minute", lambda: now)


def join(store: Store, task: Task, n: int, visitor: str | None) -> list[DeviceRow]:
    row = store.task(task.name)
    return [store.enrol(row.id, None, False, visitor)[0] for _ in range(n)]


def applied(learner: Learner, crowd: list[DeviceRow], n: int, first: int = 0) -> int:
    some = [
        changed(arrival, id=f"{first}-{i:020}")
        for i, arrival in enumerate(arrivals(learner.task, n, crowd))
    ]
    return sum(isinstance(answer, CheckinAnswer) for answer in learner.ingest(some))


@pytest.mark.parametrize(("visitor", "most"), [(ADDRESS, PACE + BURST), (None, 150)])
def test_one_network_does_not_end_a_task_at_once(
    store: Store, visitor: str | None, most: int
) -> None:
    """Send one check-in of each of 150 devices.

    On this machine a proxy may send for many people.
    """
    store.create_task(TASK)
    crowd = join(store, TASK, 150, visitor)
    learner = reopened(store, TASK)
    assert applied(learner, crowd, 150) == most
    assert learner.state is (State.EXHAUSTED if most == 150 else State.RUNNING)
    if visitor:
        rejected = learner.ingest(arrivals(TASK, 150, crowd)[-1:])[0]
        assert isinstance(rejected, Rejected)
        assert rejected.detail.startswith("devices that joined from one network within a day")
        assert applied(reopened(store, TASK), crowd[-5:], 5) == 0, "a restart forgets nothing"
        others = join(store, TASK, 20, "203.0.113.6") + join(store, TASK, 20, None)
        assert applied(learner, others, 40, first=1) == 40, "others go on"


def test_who_joins_often_has_the_share_of_one_device(store: Store) -> None:
    task = make_task(enrolment__checkins_per_minute=None)
    store.create_task(task)
    people = [join(store, task, 1, f"198.51.100.{n}")[0] for n in range(100)]
    again = join(store, task, 60, ADDRESS)
    learner = reopened(store, task)
    assert applied(learner, people, 200) == 200
    assert applied(learner, again, 60, first=1) == 10
    assert applied(learner, again[:5], 5, first=2) == 5, "a second one is a device's own"
    assert applied(learner, again[30:], 30, first=3) == 5


def test_a_device_that_left_is_rejected_by_every_node_at_once(store: Store) -> None:
    """Check that this includes a node that has not yet read the change from the database."""
    store.create_task(TASK)
    crowd = join(store, TASK, 3, None)
    here, there = reopened(store, TASK), reopened(store, TASK)
    assert applied(here, crowd, 3) == 3
    store.set_device_status(crowd[1].name, "left")
    answers = there.ingest(arrivals(TASK, 3, crowd, first=3))
    kinds = [getattr(answer, "kind", "applied") for answer in answers]
    assert kinds == ["applied", "revoked", "applied"]
    there.refresh(store.task(TASK.name).owner_settings)
    assert applied(there, crowd[:1], 1, first=1) == 1


def test_networks_are_forgotten_after_a_day(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with closing(Store(database)) as store:
        task = store.create_task(TASK).id
        join(store, TASK, 12, ADDRESS)
        store.enrol(task, None, False, "203.0.113.6")
        assert crowded_joins(store, task) == (13, 12)
        networks = [row.network for row in store.joins.after(task, -1)]
        assert len(set(networks[:12])) == 1
        now = time.time()
        monkeypatch.setattr(time, "time", lambda: now + DAY + 120)
        store.joins.forget()
        store.enrol(task, None, False, ADDRESS)
        (later,) = store.joins.after(task, -1)
        assert later.network not in networks, "another day, another key"
        assert crowded_joins(store, task) is None
        monkeypatch.setattr(time, "time", lambda: now + 3 * DAY)
        store.joins.forget()
        with store._database.reading() as connection:
            for table in (schema.joins, schema.network_keys):
                assert connection.execute(sa.select(table)).first() is None

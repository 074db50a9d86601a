"""Test that published values never change, and that readers never wait for writers."""

import json
import sqlite3
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from crowdml.protocol import Statistics, terms_hash
from crowdml.server import Store
from crowdml.server.log.fold import Fold
from crowdml.server.log.history import MOST_MINUTES, MinuteCounts
from crowdml.server.log.published import Published
from tests.server.learners import arrivals, entry, new_learner
from tests.support.servers import (
    PATIENCE,
    Portal,
    checkin,
    create,
    enrol,
    make_direction_task,
    make_task,
)

API = "/v1/tasks/activity"
ROLES: dict[str, Any] = {"collection__evaluators": 0.4, "collection__counters": 0.4}
TASKS = {
    "averaged": make_task(optimizer__averaging=1.0),
    "adagrad": make_task(optimizer__kind="adagrad", optimizer__rate=None, optimizer__c=0.1),
    "people": make_direction_task(collection__checkins=1000, **ROLES),
}


def contents(published: Published) -> tuple[Statistics, object, bytes, bytes]:
    return (
        published.statistics(7, 3600.0),
        published.history,
        published.w.tobytes(),
        published.exported.tobytes(),
    )


@pytest.mark.parametrize("task", TASKS.values(), ids=list(TASKS))
def test_what_is_published_never_changes(task: Any) -> None:
    """Check that published values are the same at once and long after.

    The log is long enough to double the stride, and spans minutes.
    """
    fold = Fold(task, terms_hash(task.terms.text))
    early, late = [], []
    for seq in range(1, 1101):
        fold.apply(entry(task, seq, device=seq % 7, late=seq % 3, number=1 + seq // 7))
        if seq % 50 < 3:
            early.append(contents(Published.of(fold, fold.state)))
            late.append(Published.of(fold, fold.state))
    assert [contents(published) for published in late] == early
    assert len({published.history.points for published in late}) == len(late)


def test_the_pace_is_current() -> None:
    task = make_task()
    fold = Fold(task, terms_hash(task.terms.text))
    for seq in range(1, 101):
        fold.apply(entry(task, seq)._replace(at=600))
    published = Published.of(fold, fold.state)
    paces = [published.statistics(1, at).checkins_per_minute for at in (630.0, 660.0, 690.0, 720.0)]
    assert paces == [100, 100, 50, 0]


def test_an_event_is_encoded_once_a_second_for_all() -> None:
    task = make_task()
    fold = Fold(task, terms_hash(task.terms.text))
    fold.apply(entry(task, 1)._replace(at=600))
    published = Published.of(fold, fold.state)
    first = published.statistics_event(3, 660.1)
    assert published.statistics_event(3, 660.9) is first
    head, data, *_ = first.split(b"\n")
    assert head == b"event: statistics"
    document = json.loads(data.removeprefix(b"data: "))
    assert (document["devices"], document["checkins_per_minute"]) == (3, 1.0)
    later, joined = (
        json.loads(published.statistics_event(*key)[24:]) for key in ((3, 690.0), (4, 660.0))
    )
    assert later == document | {"checkins_per_minute": 0.5}
    assert joined == document | {"devices": 4}


def test_an_edit_is_published_though_no_check_in_came(store: Store) -> None:
    learner = new_learner(store, make_task(stop__updates=10))
    store.edit_task("activity", {"title": "Another", "stop.updates": 20})
    learner.refresh(store.owner_settings()[learner.id])
    assert learner.published.task.title == "Another"
    assert learner.published.statistics(0, 0.0).max_updates == 20


def test_nothing_is_published_again_without_a_change(store: Store) -> None:
    task = make_task()
    learner = new_learner(store, task)
    learner.ingest(arrivals(task, 3))
    before = learner.published
    learner.refresh()
    assert learner.published is before


def test_minutes_match_a_plain_count() -> None:
    """Compare with a plain count, also if the clocks of several nodes differ.

    Then minutes come out of order.
    """
    rng = np.random.default_rng(0)
    ats = [60 * int(k // 3 + rng.integers(3)) for k in range(3 * MOST_MINUTES + 300)]
    minutes, plain, shown = MinuteCounts(), dict[int, int](), []
    for at in ats:
        minutes = minutes.counted(at)
        plain[at] = plain.get(at, 0) + 1
        shown.append((minutes, minutes.by_minute))
    newest = sorted(plain)[-MOST_MINUTES:]
    assert minutes.by_minute == {at: plain[at] for at in newest}
    assert all(then.by_minute == seen for then, seen in shown), "a count changed an earlier one"


def test_readers_do_not_wait_for_writers(tmp_path: Path) -> None:
    """Let another process lock the database, so that the store's thread hangs in a commit."""
    portal = Portal(tmp_path / "portal")
    portal.folder.mkdir()
    task = make_task()
    create(portal.database, task)
    answers: list[int] = []
    with portal, portal.connected() as device, portal.connected() as reader:
        token, unseen = enrol(device), [enrol(device) for _ in range(3)]
        assert device.call("POST", f"{API}/checkins", checkin(task, 1), token).status == 200
        with closing(sqlite3.connect(portal.file, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            body = checkin(task, 2)

            def write() -> None:
                answers.append(device.call("POST", f"{API}/checkins", body, token).status)

            writer = threading.Thread(target=write)
            writer.start()
            for stranger in unseen:
                for path in (
                    "/", "/tasks/activity", "/tasks/activity/spark.svg", "/tasks/activity/card.md",
                    "/tasks/activity/charts/error.csv", "/v1/tasks", API, f"{API}/stats",
                    f"{API}/export?format=json", "/metrics",
                ):  # fmt: skip
                    assert reader.get(path).status == 200, path
                assert reader.get(f"{API}/model", token).status == 200
                assert reader.get(f"{API}/model", stranger).status == 200
                assert reader.get(f"{API}/model", "nobody's").status == 401
                assert _first_event(portal)["version"] == 1
            assert not answers, "no read had to wait until the commit had failed"
            other.execute("ROLLBACK")
        writer.join(PATIENCE)
        assert answers == [200]
        assert reader.get(f"{API}/stats").json()["version"] == 2


def _first_event(portal: Portal) -> dict[str, Any]:
    with portal.connected() as wire:
        wire._connection.request("GET", f"{API}/events")
        with closing(wire._connection.getresponse()) as response:
            assert response.readline() == b"event: statistics\n"
            found: dict[str, Any] = json.loads(response.readline().removeprefix(b"data: "))
            return found

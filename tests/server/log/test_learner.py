"""Test the fold and its learner: a function of the log, each check-in once, never ahead of it."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
import sqlalchemy as sa

from crowdml.learnt import write_model
from crowdml.protocol import CheckinAnswer, Statistics, Task
from crowdml.server import Store
from crowdml.server.database import schema
from crowdml.server.database.log import Log
from crowdml.server.database.store import DeviceRow
from crowdml.server.log.decision import Arrival
from crowdml.server.log.fold import Fold
from crowdml.server.log.learner import Learner
from crowdml.server.results.export import learnt_model
from crowdml.server.results.task_view import current_statistics
from tests.server.learners import (
    arrivals,
    assert_same,
    new_learner,
    reopened,
    replayed,
)
from tests.support.servers import make_direction_task, make_task

OPTIMIZERS: list[dict[str, Any]] = [
    {"optimizer__kind": "sgd", "optimizer__rate": "constant"},
    {"optimizer__kind": "adagrad"},
    {"optimizer__kind": "dual-averaging"},
    {"optimizer__kind": "average-gradient"},
    {"optimizer__kind": "sgd", "optimizer__c": None},
    {"optimizer__kind": "sgd", "optimizer__averaging": 3.0},
]
MECHANISMS: list[Callable[..., Task]] = [make_task, make_direction_task]


# The log decides


@pytest.mark.parametrize("make", MECHANISMS)
@pytest.mark.parametrize("optimizer", OPTIMIZERS, ids=str)
@pytest.mark.parametrize("snapshot_every", [1, 4, 7, 1000])
def test_snapshot_and_replay_equal_full_replay(
    store: Store, make: Callable[..., Task], optimizer: dict[str, Any], snapshot_every: int
) -> None:
    task = make(stop__window=10, **optimizer)
    learner = new_learner(store, task, snapshot_every)
    incoming = arrivals(task, 25)
    for group in (incoming[:1], incoming[1:4], incoming[4:17]):
        learner.ingest(group)
    learner = reopened(store, task, snapshot_every)
    for group in (incoming[17:18], incoming[18:]):
        learner.ingest(group)
    assert_same(learner.committed_fold(), replayed(store, task))
    assert_same(reopened(store, task).committed_fold(), replayed(store, task))


@pytest.mark.parametrize("make", MECHANISMS)
def test_the_order_of_the_log_matters_and_its_grouping_does_not(
    tmp_path: Path, make: Callable[..., Task]
) -> None:
    task = make(optimizer__kind="adagrad")
    incoming = arrivals(task, 12)
    groups = [[incoming], [[arrival] for arrival in incoming], [incoming[::-1]]]
    learnt = []
    for i, each in enumerate(groups):
        with closing(Store(f"sqlite:///{tmp_path / str(i)}.db")) as store:
            learner = new_learner(store, task)
            for group in each:
                learner.ingest(group)
            learnt.append(learner.committed_fold().exported.tobytes())
    at_once, singly, backwards = learnt
    assert at_once == singly
    assert backwards != singly


def test_the_fold_reads_names_from_the_devices(store: Store) -> None:
    """Check that a codebook belongs to a device's name, which is stored in one place."""
    task = make_direction_task(collection__evaluators=0.0, collection__counters=0.0)
    learner = new_learner(store, task)
    learner.ingest(arrivals(task, 6))
    row = store.task(task.name)
    assert {entry.name for entry in store.log(row.id)} == {f"activity-{i}" for i in range(3)}
    assert not {"name"} & set(schema.checkins.columns.keys())
    renamed = sa.update(schema.devices).where(schema.devices.c.number == 0).values(name="another")
    with store._database._connection.begin():
        store._database._connection.execute(renamed)
    assert replayed(store, task).exported.tobytes() != learner.committed_fold().exported.tobytes()


def test_staleness_is_recorded(store: Store) -> None:
    task = make_task()
    learner = new_learner(store, task)
    for arrival in arrivals(task, 4):
        learner.ingest([arrival])
    shown = current_statistics(learner)
    assert shown.staleness_mean == (0 + 1 + 2 + 3) / 4
    assert shown.staleness_max == 3


# Each check-in counts once


@pytest.mark.parametrize("make", MECHANISMS)
def test_the_same_check_in_counts_once(store: Store, make: Callable[..., Task]) -> None:
    task = make()
    learner = new_learner(store, task, n=1)
    (first, second) = arrivals(task, 2, enlisted(store, task))
    twice_at_once = learner.ingest([first, second, first])
    later = learner.ingest([second, first])
    assert twice_at_once == [
        CheckinAnswer(1, "applied"), CheckinAnswer(2, "applied"), CheckinAnswer(1, "duplicate")
    ]  # fmt: skip
    assert later == [CheckinAnswer(2, "duplicate"), CheckinAnswer(1, "duplicate")]
    assert len(list(store.log(learner.id))) == 2
    assert_same(learner.committed_fold(), replayed(store, task))
    assert reopened(store, task).ingest([first]) == [CheckinAnswer(1, "duplicate")]


def enlisted(store: Store, task: Task) -> list[DeviceRow]:
    return store.devices(store.task(task.name).id)


def test_the_same_id_of_another_device_is_another_check_in(store: Store) -> None:
    task = make_task()
    learner = new_learner(store, task)
    one, other, _ = enlisted(store, task)
    message = arrivals(task, 1)[0].checkin
    answers = learner.ingest([Arrival(one, message), Arrival(other, message)])
    assert answers == [CheckinAnswer(1, "applied"), CheckinAnswer(2, "applied")]


@pytest.mark.parametrize("make", MECHANISMS)
def test_an_old_id_that_comes_back_rebuilds_nothing(
    store: Store, make: Callable[..., Task]
) -> None:
    """Check that a participant who repeats old check-ins does not slow others down."""
    task = make()
    learner = new_learner(store, task)
    old, *rest = arrivals(task, 10)
    learner.ingest([old, *rest[:5]])
    fold, published = learner.committed_fold(), learner.published
    assert learner.ingest([old]) == [CheckinAnswer(1, "duplicate")]
    assert learner.committed_fold() is fold
    assert learner.published is published
    assert learner.ingest([rest[5], old, rest[6]]) == [
        CheckinAnswer(7, "applied"), CheckinAnswer(1, "duplicate"), CheckinAnswer(8, "applied")
    ]  # fmt: skip
    assert learner.committed_fold() is fold
    assert_same(fold, replayed(store, task))


@pytest.mark.parametrize("make", MECHANISMS)
def test_what_another_process_stored_is_known(
    store: Store, tmp_path: Path, make: Callable[..., Task]
) -> None:
    task = make()
    learner = new_learner(store, task)
    first, second = arrivals(task, 2)
    with closing(Store(f"sqlite:///{tmp_path / 'store.db'}")) as other:
        reopened(other, task).ingest([first])
    assert learner.ingest([first]) == [CheckinAnswer(1, "duplicate")]
    assert learner.ingest([second]) == [CheckinAnswer(2, "applied")]
    assert_same(learner.committed_fold(), replayed(store, task))


# A commit that fails


def timeless(learner: Learner) -> Statistics:
    """Return the statistics without the values that change by themselves."""
    return msgspec.structs.replace(current_statistics(learner), checkins_per_minute=0.0)


class Broken(Exception):
    """Stand for a full disk."""


def break_commit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the next commit fail after everything was decided, written and folded."""
    appending = Log.appending

    @contextmanager
    def failing(log: Log, seq: int) -> Iterator[object]:
        monkeypatch.setattr(Log, "appending", appending)
        with appending(log, seq) as news:
            yield news
            raise Broken

    monkeypatch.setattr(Log, "appending", failing)


@pytest.mark.parametrize("make", MECHANISMS)
@pytest.mark.parametrize("optimizer", OPTIMIZERS, ids=str)
def test_a_failed_commit_is_as_if_it_never_was(
    store: Store,
    monkeypatch: pytest.MonkeyPatch,
    make: Callable[..., Task],
    optimizer: dict[str, Any],
) -> None:
    task = make(**optimizer)
    learner = new_learner(store, task, snapshot_every=3)
    incoming = arrivals(task, 10)
    learner.ingest(incoming[:5])
    before = timeless(learner), learner.published
    exported = write_model(learnt_model(learner.published), "json")
    break_commit(monkeypatch)
    with pytest.raises(Broken):
        learner.ingest(incoming[5:])
    assert learner.version == 5
    assert learner.published is before[1], "nothing is published before the commit"
    assert timeless(learner) == before[0]
    assert learner.published.body() == before[1].body()
    assert write_model(learnt_model(learner.published), "json") == exported
    answers = learner.ingest(incoming[5:])
    assert answers == [CheckinAnswer(seq, "applied") for seq in range(6, 11)]
    assert_same(learner.committed_fold(), replayed(store, task))


def test_stopping_after_a_failed_commit_saves_no_uncommitted_state(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Check that no snapshot is ahead of the log.

    It would count the retried check-ins twice after a restart.
    """
    task = make_task()
    learner = new_learner(store, task)
    incoming = arrivals(task, 10)
    learner.ingest(incoming[:5])
    break_commit(monkeypatch)
    with pytest.raises(Broken):
        learner.ingest(incoming[5:])
    learner.save_snapshot()
    again = reopened(store, task)
    assert again.version == 5
    assert_same(again.committed_fold(), replayed(store, task))
    assert again.ingest(incoming[5:]) == [CheckinAnswer(seq, "applied") for seq in range(6, 11)]
    assert_same(again.committed_fold(), replayed(store, task))


def set_largest_blob(store: Store, size: int) -> None:
    connection = store._database._connection.connection.driver_connection
    assert isinstance(connection, sqlite3.Connection)
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, size)


def test_a_snapshot_too_large_for_the_database_rejects_no_check_in(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    task = make_task()
    learner = new_learner(store, task, snapshot_every=4)
    incoming = arrivals(task, 12)
    set_largest_blob(store, 1000)
    for i, arrival in enumerate(incoming[:10]):
        assert learner.ingest([arrival]) == [CheckinAnswer(i + 1, "applied")]
    assert learner.version == 10
    failures = [record for record in caplog.records if "was not stored" in record.message]
    assert len(failures) == 2, "tried when due, not at every check-in"
    learner.save_snapshot()
    assert store.log(learner.id).snapshots() == []
    set_largest_blob(store, 10**9)
    learner.ingest(incoming[10:])
    learner.save_snapshot()
    assert_same(reopened(store, task).committed_fold(), replayed(store, task))
    (snapshot,) = store.log(learner.id).snapshots()
    assert snapshot is not None
    assert snapshot[0] == 12


def test_a_commit_that_failed_after_all_was_stored(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Check that a retry finds what was stored, if the answer was lost between disk and server."""
    task = make_task()
    learner = new_learner(store, task)
    incoming = arrivals(task, 4)
    appending = Log.appending

    @contextmanager
    def broken(log: Log, seq: int) -> Iterator[object]:
        with appending(log, seq) as given:
            yield given
        raise Broken

    with monkeypatch.context() as patch:
        patch.setattr(Log, "appending", broken)
        with pytest.raises(Broken):
            learner.ingest(incoming)
    assert learner.ingest(incoming) == [CheckinAnswer(i + 1, "duplicate") for i in range(4)]
    assert_same(learner.committed_fold(), replayed(store, task))


def test_a_damaged_snapshot_is_never_believed(store: Store) -> None:
    """Change, cut or insert random bytes; the fold must stay the same."""
    task = make_task(stop__error=0.1)
    learner = new_learner(store, task, snapshot_every=1000)
    learner.ingest(arrivals(task, 60))
    learner.save_snapshot()
    ((seq, whole),) = store.log(learner.id).snapshots()
    rng = np.random.default_rng(0)
    for _ in range(1500):
        damaged = bytearray(whole)
        at = int(rng.integers(len(whole)))
        change = int(rng.integers(3))
        if change == 0:
            for place in rng.integers(len(whole), size=3).tolist():
                damaged[place] = int(rng.integers(256))
        elif change == 1:
            del damaged[at:]
        else:
            damaged[at : at + 20] = rng.bytes(int(rng.integers(40)))
        try:
            found = Fold.from_bytes(task, learner.terms_sha256, bytes(damaged))
        except Exception:
            continue
        assert_same(found, learner.committed_fold())
    for kind in (b"", b"PK", whole[:-30], whole.replace(b"npy", b"\xabpy")):
        store.log(learner.id).save_snapshot(seq, kind)
        assert_same(reopened(store, task).committed_fold(), learner.committed_fold())


@pytest.mark.parametrize(
    "error", [NotImplementedError, EOFError, OSError, MemoryError, OverflowError, RecursionError]
)
def test_whatever_a_snapshot_raises_the_log_is_there(
    store: Store, monkeypatch: pytest.MonkeyPatch, error: type[Exception]
) -> None:
    task = make_task()
    learner = new_learner(store, task)
    learner.ingest(arrivals(task, 5))
    learner.save_snapshot()

    def broken(*_: object) -> Fold:
        raise error

    monkeypatch.setattr(Fold, "from_bytes", broken)
    assert_same(reopened(store, task).committed_fold(), learner.committed_fold())

"""The fold and its learner: a function of the log, exact stopping, no luck, no running ahead."""

import math
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from sqlalchemy.exc import IntegrityError

from crowdml.errors import Rejected
from crowdml.protocol import Checkin, CheckinAnswer, State, Statistics, Task
from crowdml.server import Store
from crowdml.server.admission import Gate
from crowdml.server.entry import LogEntry
from crowdml.server.export import export_model
from crowdml.server.learner import Arrival, Learner
from crowdml.server.log import Log
from crowdml.server.reports import statistics
from tests.server.learning import arrivals, assert_same, new_learner, reopened, replayed
from tests.servers import checkin, make_task

OPTIMIZERS: list[dict[str, Any]] = [
    {"optimizer__kind": "sgd", "optimizer__rate": "constant"},
    {"optimizer__kind": "adagrad"},
    {"optimizer__kind": "dual-averaging"},
    {"optimizer__kind": "average-gradient"},
    {"optimizer__kind": "auto", "optimizer__c": None},
    {"optimizer__kind": "sgd", "optimizer__averaging": 3.0},
]


# The log is the truth


@pytest.mark.parametrize("optimizer", OPTIMIZERS, ids=str)
@pytest.mark.parametrize("snapshot_every", [1, 4, 7, 1000])
def test_snapshot_and_replay_equal_full_replay(
    store: Store, optimizer: dict[str, Any], snapshot_every: int
) -> None:
    task = make_task(stop__window=10, **optimizer)
    learner = new_learner(store, task, snapshot_every)
    incoming = arrivals(task, 25)
    for group in (incoming[:1], incoming[1:4], incoming[4:17]):
        learner.ingest(group)
    learner = reopened(store, task, snapshot_every)
    for group in (incoming[17:18], incoming[18:]):
        learner.ingest(group)
    assert_same(learner.settled(), replayed(store, task))
    assert_same(reopened(store, task).settled(), replayed(store, task))


def test_the_order_of_the_log_matters_and_its_grouping_does_not(store: Store) -> None:
    one, many = make_task("one", optimizer__kind="adagrad"), make_task(
        "many", optimizer__kind="adagrad"
    )  # fmt: skip
    incoming = arrivals(one, 12)
    at_once, singly = new_learner(store, one), new_learner(store, many)
    at_once.ingest(incoming)
    for arrival in incoming:
        singly.ingest([arrival])
    assert at_once.settled().learnt.tobytes() == singly.settled().learnt.tobytes()
    backwards = new_learner(store, make_task("backwards", optimizer__kind="adagrad"))
    backwards.ingest(incoming[::-1])
    assert backwards.settled().learnt.tobytes() != singly.settled().learnt.tobytes()


def test_totals_are_the_sums_of_the_log(store: Store) -> None:
    task = make_task(collection__heldout=0.4)
    learner = new_learner(store, task)
    incoming = arrivals(task, 20)
    learner.ingest(incoming)
    told = statistics(learner)
    messages = [arrival.checkin for arrival in incoming]
    samples = sum(message.samples for message in messages)
    evaluated = sum(message.heldout or message.samples for message in messages)
    assert told.samples == samples
    assert told.active_devices == 3
    assert told.error is not None
    assert told.error.value == sum(m.errors for m in messages) / evaluated
    for k, estimate in enumerate(told.labels):
        assert estimate.value == sum(m.labels[k] for m in messages) / samples


def test_staleness_is_recorded(store: Store) -> None:
    task = make_task()
    learner = new_learner(store, task)
    for _, message in arrivals(task, 4):
        learner.ingest([Arrival(0, message)])
    told = statistics(learner)
    assert told.staleness_mean == (0 + 1 + 2 + 3) / 4
    assert told.staleness_max == 3


# Once


def test_the_same_check_in_counts_once(store: Store) -> None:
    task = make_task()
    learner = new_learner(store, task)
    (first, second) = arrivals(task, 2, n_devices=1)
    twice_at_once = learner.ingest([first, second, first])
    later = learner.ingest([second, first])
    assert twice_at_once == [
        CheckinAnswer(1, "applied"), CheckinAnswer(2, "applied"), CheckinAnswer(1, "duplicate")
    ]  # fmt: skip
    assert later == [CheckinAnswer(2, "duplicate"), CheckinAnswer(1, "duplicate")]
    assert len(list(store.log(learner.id))) == 2
    assert_same(learner.settled(), replayed(store, task))


def test_the_same_id_of_another_device_is_another_check_in(store: Store) -> None:
    task = make_task()
    learner = new_learner(store, task)
    message = arrivals(task, 1)[0].checkin
    answers = learner.ingest([Arrival(0, message), Arrival(1, message)])
    assert answers == [CheckinAnswer(1, "applied"), CheckinAnswer(2, "applied")]


def test_an_old_id_that_comes_back_rebuilds_nothing(store: Store) -> None:
    """One participant who repeats old check-ins must not slow everybody."""
    task = make_task()
    learner = new_learner(store, task)
    old, *rest = arrivals(task, 10, n_devices=1)
    learner.ingest([old, *rest[:5]])
    fold, published = learner.settled(), learner.published
    assert learner.ingest([old]) == [CheckinAnswer(1, "duplicate")]
    assert learner.settled() is fold
    assert learner.published is published
    assert learner.ingest([rest[5], old, rest[6]]) == [
        CheckinAnswer(7, "applied"), CheckinAnswer(1, "duplicate"), CheckinAnswer(8, "applied")
    ]  # fmt: skip
    assert learner.settled() is fold
    assert_same(fold, replayed(store, task))


def test_what_another_process_stored_is_known(store: Store, tmp_path: Path) -> None:
    task = make_task()
    learner = new_learner(store, task)
    first, second = arrivals(task, 2)
    with closing(Store(f"sqlite:///{tmp_path / 'store.db'}")) as other:
        reopened(other, task).ingest([first])
    assert learner.ingest([first]) == [CheckinAnswer(1, "duplicate")]
    with pytest.raises(IntegrityError):
        learner.ingest([second])
    assert learner.ingest([second]) == [CheckinAnswer(2, "applied")]
    assert_same(learner.settled(), replayed(store, task))


# Stopping


@pytest.mark.parametrize("groups", [(20,), (4, 16), (5, 5, 5, 5), (6, 14)])
def test_no_more_than_t_max_updates(store: Store, groups: Sequence[int]) -> None:
    task = make_task(stop__updates=5)
    learner = new_learner(store, task, snapshot_every=2)
    incoming = arrivals(task, sum(groups))
    answers: list[CheckinAnswer | Rejected] = []
    for size in groups:
        answers += learner.ingest(incoming[len(answers) : len(answers) + size])
    assert answers[:5] == [CheckinAnswer(i + 1, "applied") for i in range(5)]
    for answer in answers[5:]:
        assert isinstance(answer, Rejected)
        assert (answer.kind, answer.extra) == ("task-finished", {"state": State.EXHAUSTED})
    assert len(list(store.log(learner.id))) == 5
    again = reopened(store, task)
    assert again.state is State.EXHAUSTED
    assert again.ingest(incoming[:1]) == [CheckinAnswer(1, "duplicate")]


def noisy_errors(
    task: Task, n: int, error: float, rng: np.random.Generator, samples: int = 20
) -> list[Arrival]:
    """Check-ins of a crowd with this true error, with the noise that the terms prescribe.

    The generator is seeded, so the tests that use it cannot fail by chance.
    """
    p = -math.expm1(-task.terms.sanitizer().epsilon.errors)
    noise = rng.geometric(p, n) - rng.geometric(p, n)
    counts = rng.binomial(samples, error, n) + noise
    body = msgspec.json.decode(checkin(task, samples=samples), type=Checkin)
    return [
        Arrival(i, msgspec.structs.replace(body, id=f"checkin-{i:016d}", errors=int(counts[i])))
        for i in range(n)
    ]


def target(error: float = 0.15) -> Task:
    return make_task(
        collection__batch=20, stop__error=error, privacy__epsilon=2.0, privacy__epsilon_e=0.1
    )


@pytest.mark.parametrize("seed", range(3))
def test_noise_alone_does_not_stop_a_task(store: Store, seed: int) -> None:
    """The true error is a third above the target, so a plain estimate dips below it at once."""
    task = target()
    incoming = noisy_errors(task, 1500, 0.2, np.random.default_rng(seed))
    learner = new_learner(store, task)
    dips = 0
    for start in range(0, 1500, 50):
        learner.ingest(incoming[start : start + 50])
        recent = statistics(learner).recent_error
        assert recent is not None
        dips += recent.value <= 0.15
    assert dips > 0, "the noise must have been able to mislead"
    assert learner.state is State.RUNNING
    assert learner.version == 1500


def test_a_low_error_stops_a_task(store: Store) -> None:
    task = target(error=0.5)
    learner = new_learner(store, task)
    incoming = noisy_errors(task, 600, 0.05, np.random.default_rng(1))
    answers = learner.ingest(incoming)
    assert learner.state is State.REACHED
    assert 1000 / 20 <= learner.version < 600, "not before the least number of samples"
    refused = answers[learner.version :]
    assert all(isinstance(answer, Rejected) for answer in refused)
    fold = learner.settled()
    upper = fold.recent_error(fold._z)
    assert upper is not None
    assert upper.value + upper.margin <= 0.5
    assert reopened(store, task).state is State.REACHED


def test_too_few_samples_never_stop_a_task(store: Store) -> None:
    task = make_task(stop__error=0.9, stop__samples=1000, privacy__epsilon=float("inf"))
    learner = new_learner(store, task)
    incoming = arrivals(task, 100)
    for device, message in incoming:
        learner.ingest([Arrival(device, msgspec.structs.replace(message, errors=0))])
    assert statistics(learner).samples < 1000
    assert learner.state is State.RUNNING


@pytest.mark.parametrize("errors", [-(10**9), 10**9])
def test_one_liar_cannot_stop_a_task(errors: int) -> None:
    task = target()
    gate = Gate(task.terms, msgspec.json.decode(checkin(task), type=Checkin).terms)
    gate.check(msgspec.json.decode(checkin(task), type=Checkin))
    lie = msgspec.json.decode(checkin(task, errors=errors), type=Checkin)
    with pytest.raises(Rejected, match=f"found {errors}") as caught:
        gate.check(lie)
    assert caught.value.kind == "implausible"


def test_a_stopped_window_remembers_only_the_newest(store: Store) -> None:
    """Errors made long ago must not keep a task from stopping."""
    task = make_task(stop__window=10, stop__samples=30, stop__error=0.5,
                     privacy__epsilon=float("inf"))  # fmt: skip
    learner = new_learner(store, task)
    for i, (device, message) in enumerate(arrivals(task, 60)):
        errors = message.samples if i < 30 else 0
        learner.ingest([Arrival(device, msgspec.structs.replace(message, errors=errors))])
        if learner.state.final:
            break
    assert learner.state is State.REACHED
    assert 33 <= learner.version <= 40


# A commit that fails


def timeless(learner: Learner) -> Statistics:
    """The statistics without what changes by itself."""
    return msgspec.structs.replace(statistics(learner), checkins_per_minute=0.0)


class Broken(Exception):
    """A disk that is full."""


def break_append(monkeypatch: pytest.MonkeyPatch, after: bool = False) -> None:
    append = Log.append

    def failing(log: Log, entries: Sequence[LogEntry]) -> None:
        monkeypatch.setattr(Log, "append", append)
        if after:
            append(log, entries)
        raise Broken

    monkeypatch.setattr(Log, "append", failing)


@pytest.mark.parametrize("optimizer", OPTIMIZERS, ids=str)
def test_a_failed_commit_is_as_if_it_never_was(
    store: Store, monkeypatch: pytest.MonkeyPatch, optimizer: dict[str, Any]
) -> None:
    task = make_task(**optimizer)
    learner = new_learner(store, task, snapshot_every=3)
    incoming = arrivals(task, 10)
    learner.ingest(incoming[:5])
    before = timeless(learner), learner.published
    exported = export_model(learner.settled(), "json")
    break_append(monkeypatch)
    with pytest.raises(Broken):
        learner.ingest(incoming[5:])
    assert learner.version == 5
    assert learner.published is before[1], "nothing is published before the commit"
    assert timeless(learner) == before[0]
    assert learner.published.body == before[1].body
    assert export_model(learner.settled(), "json") == exported
    answers = learner.ingest(incoming[5:])
    assert answers == [CheckinAnswer(seq, "applied") for seq in range(6, 11)]
    assert_same(learner.settled(), replayed(store, task))


def test_stopping_after_a_failed_commit_saves_no_dream(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A snapshot ahead of the log would count the retried check-ins twice after a restart."""
    task = make_task()
    learner = new_learner(store, task)
    incoming = arrivals(task, 10)
    learner.ingest(incoming[:5])
    break_append(monkeypatch)
    with pytest.raises(Broken):
        learner.ingest(incoming[5:])
    learner.save_snapshot()
    again = reopened(store, task)
    assert again.version == 5
    assert_same(again.settled(), replayed(store, task))
    assert again.ingest(incoming[5:]) == [CheckinAnswer(seq, "applied") for seq in range(6, 11)]
    assert_same(again.settled(), replayed(store, task))


def set_largest_blob(store: Store, size: int) -> None:
    connection = store._connection.connection.driver_connection
    assert isinstance(connection, sqlite3.Connection)
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, size)


def test_a_snapshot_too_large_for_the_database_refuses_nothing(
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
    assert store.log(learner.id).snapshot() is None
    set_largest_blob(store, 10**9)
    learner.ingest(incoming[10:])
    learner.save_snapshot()
    assert_same(reopened(store, task).settled(), replayed(store, task))
    snapshot = store.log(learner.id).snapshot()
    assert snapshot is not None
    assert snapshot[0] == 12


def test_a_commit_that_failed_after_all_was_stored(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answer was lost between disk and server: the retry must find what was stored."""
    task = make_task()
    learner = new_learner(store, task)
    incoming = arrivals(task, 4)
    break_append(monkeypatch, after=True)
    with pytest.raises(Broken):
        learner.ingest(incoming)
    assert learner.ingest(incoming) == [CheckinAnswer(i + 1, "duplicate") for i in range(4)]
    assert_same(learner.settled(), replayed(store, task))

"""Test the device's file: all or nothing, append-only, one use for each sample."""

import sqlite3
import stat
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import msgspec
import numpy as np
import pytest

from crowdml.device.identity import Identity
from crowdml.device.storage.database import VERSION
from crowdml.device.storage.position import Position
from crowdml.device.storage.store import DeviceStore, WrittenCheckin
from crowdml.errors import DeviceError, InvalidInput, LimitReached
from crowdml.privacy import (
    CheckinEvent,
    DirectionEvent,
    Ledger,
    Limits,
    MinibatchPart,
    NoiseEvent,
    Release,
    Role,
)
from crowdml.types import Array

EVENT = NoiseEvent(3, 0, (Release("gradient", MinibatchPart.TRAINING, 5, 0.5),))

IDENTITY = Identity("u", "task", "ana", "token", "{}", Limits(1.0, 1.0))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "device"


@pytest.fixture
def store(file: Path) -> Iterator[DeviceStore]:
    with closing(DeviceStore(file)) as store:
        store.identity = IDENTITY
        yield store


def release(
    store: DeviceStore, id: str = "a", n_samples: int | None = None
) -> tuple[WrittenCheckin, Array]:
    taken: list[Array] = []

    def sanitize(x: Array, y: Array, ledger: Ledger) -> WrittenCheckin:
        taken.append(y)
        return WrittenCheckin(id, b"body of " + id.encode())

    checkin = store.release(n_samples or store.n_samples, EVENT, sanitize)
    assert checkin is not None
    return checkin, taken[0]


def fill(store: DeviceStore, *targets: float) -> None:
    for y in targets:
        store.add(np.array([y, 0.0]), y, most=99)


@pytest.mark.parametrize(
    "statement",
    ["UPDATE ledger SET event = x'00'", "DELETE FROM ledger",
     "UPDATE ledger SET checkin = 'b'"],
)  # fmt: skip
def test_the_ledger_is_append_only(store: DeviceStore, file: Path, statement: str) -> None:
    fill(store, 1.0, 2.0)
    release(store)
    with closing(sqlite3.connect(file)) as database:
        with pytest.raises(sqlite3.IntegrityError, match="append-only"):
            database.execute(statement)
        database.rollback()
    assert store.ledger.events == (EVENT,)


def test_a_message_takes_its_samples_with_it(store: DeviceStore, file: Path) -> None:
    fill(store, 1.0, 2.0, 3.0)
    checkin, y = release(store)
    assert y.tolist() == [1.0, 2.0, 3.0]
    fill(store, 4.0)
    with closing(DeviceStore(file)) as again:
        assert again.n_samples == 1
        assert again.pending_checkin == checkin
        assert again.ledger.events == (EVENT,)
        assert again.answers == {"a": "waiting"}


def test_a_message_takes_the_oldest_samples_that_were_approved(
    store: DeviceStore, file: Path
) -> None:
    """Check that samples added by another process after the approval wait for the next check-in."""
    fill(store, 1.0, 2.0, 3.0)
    with closing(DeviceStore(file)) as other:
        fill(other, 4.0, 5.0)
    _, y = release(store, n_samples=3)
    assert y.tolist() == [1.0, 2.0, 3.0]
    assert store.n_samples == 2
    assert release(store, "b")[1].tolist() == [4.0, 5.0]


def test_a_message_that_is_not_written_takes_nothing(store: DeviceStore) -> None:
    fill(store, 1.0, 2.0)
    assert store.release(2, EVENT, lambda x, y, ledger: None) is None
    assert (store.n_samples, store.pending_checkin, store.ledger.events) == (2, None, ())


def test_a_failed_sanitizing_leaves_everything(store: DeviceStore, file: Path) -> None:
    fill(store, 1.0, 2.0)

    def reject(x: Array, y: Array, ledger: Ledger) -> WrittenCheckin:
        raise LimitReached("no")

    with pytest.raises(LimitReached):
        store.release(2, EVENT, reject)
    with closing(DeviceStore(file)) as again:
        assert (again.n_samples, again.pending_checkin, again.ledger.events) == (2, None, ())


def test_one_id_one_entry(store: DeviceStore) -> None:
    fill(store, 1.0)
    release(store)
    fill(store, 2.0)
    with pytest.raises(sqlite3.IntegrityError):
        release(store)
    assert (store.n_samples, len(store.ledger.events)) == (1, 1)


def test_answers_are_remembered(store: DeviceStore) -> None:
    fill(store, 1.0)
    checkin, _ = release(store)
    store.store_answer(checkin, "applied")
    store.store_answer(checkin, "duplicate")
    assert store.pending_checkin is None
    assert store.answers == {"a": "applied"}
    assert store.ledger.events == (EVENT,)


def test_samples_are_kept_exactly(store: DeviceStore) -> None:
    x = np.array([0.1, -1e-300])
    store.add(x, 1 / 3, most=99)

    def look(xs: Array, ys: Array, ledger: Ledger) -> WrittenCheckin:
        assert xs.tobytes() == x.tobytes()
        assert ys.tolist() == [1 / 3]
        return WrittenCheckin("a", b"")

    assert store.release(1, EVENT, look)


@pytest.mark.parametrize("fails", [False, True])
def test_what_is_charged_survives_a_power_cut(store: DeviceStore, fails: bool) -> None:
    """Check that a check-in, its cost and the identity are on disk when `release` returns.

    Samples need not be: waiting for the disk at each sample would cost the most time.
    """
    assert store._db.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    said: list[str] = []
    store._db._db.set_trace_callback(said.append)
    fill(store, 1.0)
    assert not any("synchronous" in statement for statement in said)
    said.clear()
    if fails:
        with pytest.raises(ZeroDivisionError):
            store.release(1, EVENT, lambda x, y, ledger: 1 / 0)  # type: ignore[arg-type,return-value]
    else:
        release(store)
    full, normal = (said.index(f"PRAGMA synchronous = {mode}") for mode in ("FULL", "NORMAL"))
    assert full < said.index("BEGIN IMMEDIATE") < said.index("ROLLBACK" if fails else "COMMIT")
    assert normal > full
    assert said[-1] == (said[normal] if fails else "PRAGMA wal_checkpoint(TRUNCATE)")
    said.clear()
    store.identity = IDENTITY
    assert [each for each in said if not each.startswith(("INSERT", "SELECT"))] == [
        "PRAGMA synchronous = FULL", "BEGIN IMMEDIATE", "COMMIT", "PRAGMA synchronous = NORMAL",
    ]  # fmt: skip


def test_a_sample_that_nobody_else_has_is_on_disk(store: DeviceStore) -> None:
    said: list[str] = []
    store._db._db.set_trace_callback(said.append)
    store.add(np.ones(2), 1.0, 99, Position("mqtt:name", 1, "hash"), durable=True)
    assert [each for each in said if not each.startswith(("INSERT", "SELECT"))] == [
        "PRAGMA synchronous = FULL", "BEGIN IMMEDIATE", "COMMIT", "PRAGMA synchronous = NORMAL",
    ]  # fmt: skip
    assert store.position("mqtt:name") == Position("mqtt:name", 1, "hash")


def test_what_another_process_charged_is_known(store: DeviceStore, file: Path) -> None:
    """Check that only new entries are read, and none twice."""
    with closing(DeviceStore(file)) as other:
        for i in range(3):
            fill(store, 1.0)
            release(store if i % 2 else other, f"{i}")
            assert store.ledger.events == other.ledger.events == (EVENT,) * (i + 1)
        assert not store.ledger.events[3:]
        assert store.ledger is store.ledger


def test_news_of_another_process_is_told_once(store: DeviceStore, file: Path) -> None:
    fill(store, 1.0)
    assert not store.changed(), "one's own writes are no news"
    with closing(DeviceStore(file)) as other:
        fill(other, 1.0)
    assert store.changed()
    assert not store.changed()


def test_samples_are_counted_over_many_messages(store: DeviceStore, file: Path) -> None:
    """Check the count, which comes from ids without gaps, with several processes."""
    with closing(DeviceStore(file)) as other:
        for round_ in range(3):
            for n in range(1, 5):
                found = (store if n % 2 else other).add(np.zeros(2), 0.0, most=4)
                assert found == (n, round_ > 0)
            assert store.add(np.zeros(2), 0.0, most=4) is None
            assert store.summary == other.summary == (4, round_ > 0)
            release(other, f"{round_}")
            assert (store.n_samples, other.n_samples) == (0, 0)


def test_a_sample_and_its_place_are_kept_together(store: DeviceStore, file: Path) -> None:
    x, first, second = np.zeros(2), Position("/a.csv", 1, "00"), Position("/a.csv", 2, "01")
    assert store.add(x, 0.0, 1, first)
    assert not store.add(x, 0.0, 1, second)
    with closing(DeviceStore(file)) as again:
        assert again.position("/a.csv") == first
        assert again.position("/b.csv") is None


def test_a_file_of_another_version_is_left_alone(store: DeviceStore, file: Path) -> None:
    """Check this, because its ledger could mean something else: too little would count as spent."""
    for version in (VERSION - 1, VERSION + 1):
        store._db.execute(f"PRAGMA user_version = {version}")
        with pytest.raises(DeviceError, match=f"must be of version {VERSION}, found {version}"):
            DeviceStore(file)


def test_another_database_is_left_alone(file: Path) -> None:
    with closing(sqlite3.connect(file)) as database:
        database.executescript("CREATE TABLE tasks (name TEXT);")
    file.chmod(0o644)
    before = file.read_bytes()
    with pytest.raises(DeviceError, match="is another database"):
        DeviceStore(file)
    assert (file.read_bytes(), stat.S_IMODE(file.stat().st_mode)) == (before, 0o644)


def test_events_of_every_kind_come_back(store: DeviceStore) -> None:
    events: list[CheckinEvent] = [EVENT, *(DirectionEvent(2, role, 4.0) for role in Role)]
    for number, event in enumerate(events):
        fill(store, 1.0)
        store.release(1, event, lambda x, y, ledger, n=number: WrittenCheckin(f"{n}", b""))  # type: ignore[misc]
    assert store.ledger.events == tuple(events)


def test_used_samples_are_not_in_the_log_of_an_open_file(store: DeviceStore, file: Path) -> None:
    raw = np.array([0.123456789])
    for _ in range(300):
        store.add(raw, 1.0, most=999)

    def holding() -> list[str]:
        return [path.name for path in file.parent.iterdir() if raw.tobytes() in path.read_bytes()]

    assert holding(), "as long as they wait they are there"
    release(store)
    assert holding() == []
    store.add(raw, 1.0, most=999)
    store.keep_ledger(IDENTITY)
    assert holding() == []


def test_what_cannot_be_read_is_never_left_out(store: DeviceStore, file: Path) -> None:
    """Check the second reading too: a ledger without the event would allow more than was agreed."""
    with closing(sqlite3.connect(file)) as db:
        strange = msgspec.msgpack.encode({"type": "strange", "epsilon": 4.0})
        db.execute("INSERT INTO ledger (checkin, event) VALUES ('x', ?)", (strange,))
        db.commit()
    for _ in range(2):
        with pytest.raises(InvalidInput, match="value 'strange'"):
            _ = store.ledger

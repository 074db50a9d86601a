"""The device's file: all or nothing, append-only, one use for each sample."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from crowdml.device.store import SCHEMAS, DeviceStore, Letter, Position
from crowdml.errors import DeviceError, LimitReached
from crowdml.privacy import CheckinRelease, LaplaceRelease, Ledger, Part
from crowdml.types import Array

EVENT = CheckinRelease(3, 0, (LaplaceRelease("gradient", Part.TRAINING, 5, 0.5),))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "device"


@pytest.fixture
def store(file: Path) -> Iterator[DeviceStore]:
    with closing(DeviceStore(file)) as store:
        yield store


def release(store: DeviceStore, id: str = "a") -> tuple[Letter, Array]:
    taken: list[Array] = []

    def sanitize(x: Array, y: Array, ledger: Ledger) -> tuple[Letter, CheckinRelease]:
        taken.append(y)
        return Letter(id, b"body of " + id.encode()), EVENT

    letter = store.release(sanitize)
    assert letter is not None
    return letter, taken[0]


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


def test_a_letter_takes_its_samples_with_it(store: DeviceStore, file: Path) -> None:
    fill(store, 1.0, 2.0, 3.0)
    letter, y = release(store)
    assert y.tolist() == [1.0, 2.0, 3.0]
    fill(store, 4.0)
    with closing(DeviceStore(file)) as again:
        assert again.n_samples == 1
        assert again.pending == letter
        assert again.ledger.events == (EVENT,)
        assert again.answers == {"a": "waiting"}


def test_a_failed_sanitizing_leaves_everything(store: DeviceStore, file: Path) -> None:
    fill(store, 1.0, 2.0)

    def refuse(x: Array, y: Array, ledger: Ledger) -> tuple[Letter, CheckinRelease]:
        raise LimitReached("no")

    with pytest.raises(LimitReached):
        store.release(refuse)
    with closing(DeviceStore(file)) as again:
        assert (again.n_samples, again.pending, again.ledger.events) == (2, None, ())


def test_one_id_one_entry(store: DeviceStore) -> None:
    fill(store, 1.0)
    release(store)
    fill(store, 2.0)
    with pytest.raises(sqlite3.IntegrityError):
        release(store)
    assert (store.n_samples, len(store.ledger.events)) == (1, 1)


def test_answers_are_remembered(store: DeviceStore) -> None:
    fill(store, 1.0)
    letter, _ = release(store)
    store.answered(letter, "applied")
    store.answered(letter, "duplicate")
    assert store.pending is None
    assert store.answers == {"a": "applied"}
    assert store.ledger.events == (EVENT,)


def test_another_process_is_seen(store: DeviceStore, file: Path) -> None:
    """Two stores on one file: what one of them takes, the other must know to be gone."""
    with closing(DeviceStore(file)) as other:
        fill(store, 1.0, 2.0)
        fill(other, 3.0)
        assert store.n_samples == other.n_samples == 3
        assert release(other)[1].tolist() == [1.0, 2.0, 3.0]
        assert store.n_samples == other.n_samples == 0


def test_samples_are_kept_exactly(store: DeviceStore) -> None:
    x = np.array([0.1, -1e-300])
    store.add(x, 1 / 3, most=99)

    def look(xs: Array, ys: Array, ledger: Ledger) -> tuple[Letter, CheckinRelease]:
        assert xs.tobytes() == x.tobytes()
        assert ys.tolist() == [1 / 3]
        return Letter("a", b""), EVENT

    store.release(look)


def test_commits_survive_a_power_cut(store: DeviceStore) -> None:
    assert store._db.execute("PRAGMA synchronous").fetchone() == (2,)
    assert store._db.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_a_sample_and_its_place_are_kept_together(store: DeviceStore, file: Path) -> None:
    x, first, second = np.zeros(2), Position("/a.csv", 1, "00"), Position("/a.csv", 2, "01")
    assert store.add(x, 0.0, 1, first)
    assert not store.add(x, 0.0, 1, second)
    with closing(DeviceStore(file)) as again:
        assert again.position("/a.csv") == first
        assert again.position("/b.csv") is None


def test_a_file_of_the_first_version(file: Path) -> None:
    with closing(sqlite3.connect(file)) as database:
        database.executescript(SCHEMAS[0])
    with closing(DeviceStore(file)) as store:
        fill(store, 1.0)
        assert store.position("/a.csv") is None
        assert store._db.execute("PRAGMA user_version").fetchone() == (2,)


def test_another_database_is_left_alone(file: Path) -> None:
    with closing(sqlite3.connect(file)) as database:
        database.executescript("CREATE TABLE tasks (name TEXT);")
    with pytest.raises(DeviceError, match="is another database"):
        DeviceStore(file)

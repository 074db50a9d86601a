"""Test the store by the conformance suite, and by what only its own tables can show."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from crowdml.checks import check_store
from crowdml.demo import free_port
from crowdml.errors import CrowdmlError, InvalidInput
from crowdml.server import Store
from tests.support.servers import make_task


def test_conformance(database: str) -> None:
    check_store(lambda: Store(database))


def test_two_snapshots_are_kept(store: Store, tmp_path: Path) -> None:
    first = store.create_task(make_task("first")).id
    second = store.create_task(make_task("second")).id
    store.log(second).save_snapshot(1, b"other")
    for seq in (1, 2, 3, 7):
        store.log(first).save_snapshot(seq, bytes([seq]))
    with closing(sqlite3.connect(tmp_path / "store.db")) as database:
        kept = database.execute("SELECT task, seq FROM snapshots ORDER BY task, seq").fetchall()
    assert kept == [(first, 3), (first, 7), (second, 1)]


def test_commits_survive_a_power_cut(store: Store, tmp_path: Path) -> None:
    """Check for WAL with FULL: every commit is synced before it is acknowledged."""
    pragmas = {name: store._database._connection.exec_driver_sql(f"PRAGMA {name}").scalar()
               for name in ("journal_mode", "synchronous", "foreign_keys")}  # fmt: skip
    assert pragmas == {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1}


def test_secrets_are_stored_as_hashes_only(store: Store, tmp_path: Path) -> None:
    task = store.create_task(make_task()).id
    invite = store.invites.create(task, 5)
    token = store.enrol(task, invite, True)[1]
    raw = b"".join(file.read_bytes() for file in tmp_path.glob("store.db*"))
    assert len(raw) > 1000
    assert token.encode() not in raw
    assert invite.encode() not in raw


def test_a_device_row_holds_nothing_about_a_person(store: Store, tmp_path: Path) -> None:
    store.tasks()
    with closing(sqlite3.connect(tmp_path / "store.db")) as database:
        columns = [row[1] for row in database.execute("PRAGMA table_info(devices)")]
    assert columns == ["task", "number", "name", "token_sha256", "status"]


@pytest.mark.parametrize("state", ["final", "reached", "exhausted", "Running", ""])
def test_a_state_that_no_owner_can_choose_is_rejected(store: Store, state: str) -> None:
    store.create_task(make_task())
    with pytest.raises(InvalidInput):
        store.set_task_state("activity", state)
    assert store.task("activity").owner_settings.state == "running"


@pytest.mark.parametrize("url", ["mysql://x/y", "crowd.db", "", "sqlite"])
def test_another_kind_of_database_is_rejected(url: str) -> None:
    with pytest.raises(InvalidInput, match="the database must be a URL"):
        Store(url)


def test_a_database_that_does_not_answer_is_named_without_its_password() -> None:
    url = f"postgresql://ann:secret@127.0.0.1:{free_port()}/crowd"
    with pytest.raises(
        CrowdmlError, match=r"cannot use the database postgresql://ann:\*\*\*@"
    ) as no:
        Store(url)
    assert "secret" not in str(no.value)


def test_a_new_file_is_for_its_owner_alone(tmp_path: Path) -> None:
    Store(f"sqlite:///{tmp_path / 'new.db'}").close()
    assert (tmp_path / "new.db").stat().st_mode & 0o777 == 0o600


def test_a_file_that_is_not_a_database_is_rejected(tmp_path: Path) -> None:
    file = tmp_path / "not.db"
    file.write_bytes(b"this is not a database, however long one looks at it" * 10)
    with pytest.raises(CrowdmlError, match="cannot use the database"):
        Store(f"sqlite:///{file}")

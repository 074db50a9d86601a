"""Test that the tables match the schema, and that a database of another version is left alone."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from crowdml.errors import CrowdmlError
from crowdml.server import Store
from crowdml.server.database import schema
from crowdml.server.database.entry import LogEntry
from crowdml.server.database.opening import FIRST, HEAD, open_database
from tests.cli.command import Here
from tests.support.servers import make_task

EARLIER = [f"{number:04}" for number in range(1, int(FIRST))]
"""The versions before the first one that this version can upgrade."""


def old_database(file: Path, version: str) -> list[str]:
    """Make a database with a task; return its content as the statements that would make it."""
    with closing(sqlite3.connect(file)) as database, database:
        database.execute("CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL)")
        database.execute("INSERT INTO alembic_version VALUES (?)", (version,))
        database.execute("CREATE TABLE tasks (id INTEGER PRIMARY KEY, name TEXT)")
        database.execute("INSERT INTO tasks VALUES (1, 'walks')")
    return everything(file)


def everything(file: Path) -> list[str]:
    with closing(sqlite3.connect(file)) as database:
        return list(database.iterdump())


@pytest.mark.parametrize("version", EARLIER)
def test_a_database_of_an_earlier_version_is_rejected_and_left_alone(
    tmp_path: Path, version: str
) -> None:
    file = tmp_path / "old.db"
    before = old_database(file, version)
    for _ in range(2):
        with pytest.raises(CrowdmlError, match=rf"found {version}.*task export.*an empty database"):
            Store(f"sqlite:///{file}")
        assert everything(file) == before
    with closing(sqlite3.connect(file, timeout=0)) as database:
        database.execute("BEGIN EXCLUSIVE")


def test_starting_on_an_old_database_prints_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old_database(tmp_path / "old.db", EARLIER[-1])
    here = Here(tmp_path, capsys=capsys)
    for command_line in (["serve"], ["task", "list"]):
        said = here(*command_line, "--database", f"sqlite:///{tmp_path / 'old.db'}").error()
        assert "an earlier crowdml has made" in said
        assert "Traceback" not in said


def test_a_new_database_is_of_the_newest_version(store: Store, tmp_path: Path) -> None:
    """Check that an up-to-date database is opened without asking the migrations."""
    with closing(sqlite3.connect(tmp_path / "store.db")) as database:
        (version,) = database.execute("SELECT version_num FROM alembic_version").fetchone()
    assert version == HEAD
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(command, "upgrade", lambda *_: pytest.fail("nothing to upgrade"))
        Store(f"sqlite:///{tmp_path / 'store.db'}").close()


def difference(found: Any) -> str:
    """Describe what Alembic would do, and to which table; for a column Alembic gives a list."""
    return str(found) if isinstance(found, list) else f"{found[0]} {found[1].table.name}"


def test_the_migrations_lead_to_the_schema(database: str) -> None:
    """Compare columns in their order, types, keys, unique constraints and nullable columns."""
    with closing(open_database(database)) as opened, opened.reading() as connection:
        inspector = sa.inspect(connection)
        for name, table in schema.metadata.tables.items():
            found = [column["name"] for column in inspector.get_columns(name)]
            assert found == table.columns.keys()
            key = inspector.get_pk_constraint(name)["constrained_columns"]
            assert key == [column.name for column in table.primary_key]
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        found = sorted(map(difference, compare_metadata(context, schema.metadata)))
    # PostgreSQL does not check the task of each row of the log.
    trusted = ["add_fk checkins", "add_fk told"]
    assert found == (trusted if database.startswith("postgresql") else [])


def test_a_database_of_the_first_version_is_migrated(database: str) -> None:
    with closing(Store(database)) as store:
        store.create_task(make_task())
    with closing(open_database(database)) as opened, opened.writing() as connection:
        for table in ("drafts", "joins", "network_keys"):
            connection.exec_driver_sql(f"DROP TABLE {table}")
        connection.exec_driver_sql("ALTER TABLE tasks DROP COLUMN removed")
        connection.exec_driver_sql(f"UPDATE alembic_version SET version_num = '{FIRST}'")
    test_the_migrations_lead_to_the_schema(database)
    with closing(Store(database)) as store:
        device, _ = store.enrol(store.task("activity").id, None, False, "203.0.113.5")
        store.set_device_status(device.name, "left")
        assert store.task("activity").owner_settings.removed == 1


def test_the_log_is_in_the_order_of_its_columns() -> None:
    assert list(LogEntry._fields) == [*schema.checkins.columns.keys(), "payload", "name"]

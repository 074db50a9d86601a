"""A database of an earlier version is taken over where it can be, and left alone where not."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic import command
from alembic.config import Config

from crowdml.errors import CrowdmlError
from crowdml.server import Store, schema
from crowdml.server.database import HEAD, MIGRATIONS
from crowdml.server.entry import LogEntry
from tests.server.learning import arrivals, assert_same, new_learner, reopened, replayed
from tests.servers import make_directed

EARLIER = ["0001", "0002", "0003"]
"""The versions before terms named a mechanism."""


def migrate(file: Path, up: str) -> None:
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    engine = sa.create_engine(f"sqlite:///{file}")
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, up)
    engine.dispose()


def everything(file: Path) -> list[str]:
    """The whole database, as the statements that would make it."""
    with closing(sqlite3.connect(file)) as database:
        return list(database.iterdump())


def old_database(file: Path, version: str) -> None:
    """With a task of that time, a device, a check-in and a snapshot."""
    migrate(file, version)
    with closing(sqlite3.connect(file)) as database, database:
        database.execute("INSERT INTO tasks VALUES (1, 'walks', '{}', '{}', 'running', 0)")
        database.execute("INSERT INTO devices VALUES (1, 0, 'ana', x'00', 'active')")
        columns = [row[1] for row in database.execute("PRAGMA table_info(checkins)")]
        database.execute(
            f"INSERT INTO checkins VALUES ({','.join('?' * len(columns))})", [1] * len(columns)
        )
        database.execute("INSERT INTO snapshots VALUES (1, 1, x'00')")


@pytest.mark.parametrize("version", EARLIER)
def test_a_database_with_tasks_of_before_is_refused_and_left_alone(
    tmp_path: Path, version: str
) -> None:
    file = tmp_path / "old.db"
    old_database(file, version)
    before = everything(file)
    for _ in range(2):
        with pytest.raises(CrowdmlError, match=r"name no mechanism.*begin with a new database"):
            Store(f"sqlite:///{file}")
        assert everything(file) == before
    with closing(sqlite3.connect(file, timeout=0)) as database:
        database.execute("BEGIN EXCLUSIVE")


@pytest.mark.parametrize("version", EARLIER)
def test_a_database_without_tasks_is_taken_over(tmp_path: Path, version: str) -> None:
    file = tmp_path / "store.db"
    migrate(file, version)
    owners = []
    if version != "0001":
        with closing(sqlite3.connect(file)) as database, database:
            database.execute("INSERT INTO owners VALUES ('ana', 'hash')")
        owners = ["ana"]
    task = make_directed()
    with closing(Store(f"sqlite:///{file}")) as store:
        assert store.accounts.names() == owners
        learner = new_learner(store, task)
        learner.ingest(arrivals(task, 5))
    with closing(Store(f"sqlite:///{file}")) as store:
        assert_same(reopened(store, task).settled(), replayed(store, task))
        assert reopened(store, task).version == 5


def test_a_new_database_is_of_the_newest_version(store: Store, tmp_path: Path) -> None:
    """And one that is up to date is opened without asking the migrations."""
    with closing(sqlite3.connect(tmp_path / "store.db")) as database:
        (version,) = database.execute("SELECT version_num FROM alembic_version").fetchone()
    assert version == HEAD == "0009"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(command, "upgrade", lambda *_: pytest.fail("nothing to upgrade"))
        Store(f"sqlite:///{tmp_path / 'store.db'}").close()


def test_the_migrations_lead_to_the_schema(store: Store, tmp_path: Path) -> None:
    """Table by table: columns in the order of the schema, keys, what must be unique, what may be
    missing."""
    engine = sa.create_engine(f"sqlite:///{tmp_path / 'store.db'}")
    inspector = sa.inspect(engine)
    for name, table in schema.metadata.tables.items():
        found = [(each["name"], each["nullable"]) for each in inspector.get_columns(name)]
        assert found == [(column.name, column.nullable) for column in table.columns]
        key = inspector.get_pk_constraint(name)["constrained_columns"]
        assert key == [column.name for column in table.primary_key]
        unique = {tuple(each["column_names"]) for each in inspector.get_unique_constraints(name)}
        assert unique == {
            tuple(column.name for column in each.columns)
            for each in table.constraints
            if isinstance(each, sa.UniqueConstraint)
        }
        indexes = {
            (each["name"], tuple(each["column_names"]), bool(each["unique"]))
            for each in inspector.get_indexes(name)
        }
        assert indexes == {
            (index.name, tuple(column.name for column in index.columns), index.unique)
            for index in table.indexes
        }
    engine.dispose()


def test_the_log_is_in_the_order_of_its_columns() -> None:
    assert list(LogEntry._fields) == [*schema.checkins.columns.keys(), "told", "name"]

"""A database of an earlier version is taken over with all that it holds."""

import sqlite3
from contextlib import closing
from pathlib import Path

import msgspec
import pytest
import sqlalchemy as sa
from alembic import command
from alembic.config import Config

from crowdml.server import Store, schema
from crowdml.server.entry import LogEntry
from crowdml.server.store import MIGRATIONS
from tests.servers import make_task

LOG = [
    LogEntry(
        task=1, seq=seq, device=seq % 3, id=f"checkin-{seq:08}", at=60 * seq, version=seq // 2,
        samples=20 + seq, heldout=seq % 2, errors=-seq, labels=f"[{seq},2,3]", grid=-20,
        gradient=bytes([seq, 0, 255]),
    )
    for seq in range(1, 51)
]  # fmt: skip


def migrate(file: Path, up: str | None = None, down: str | None = None) -> None:
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    engine = sa.create_engine(f"sqlite:///{file}")
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        if up:
            command.upgrade(config, up)
        if down:
            command.downgrade(config, down)
    engine.dispose()


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A database at 0002, with a task, a log and a snapshot."""
    file = tmp_path / "store.db"
    migrate(file, up="0002")
    task = make_task()
    row = (1, task.name, msgspec.json.encode(task).decode(), task.terms.text, "running", 0)
    with closing(sqlite3.connect(file)) as database, database:
        database.execute("INSERT INTO tasks VALUES (?,?,?,?,?,?)", row)
        for entry in LOG:
            at = entry.at
            rest = [value for name, value in entry._asdict().items() if name != "at"]
            database.execute(f"INSERT INTO checkins VALUES ({','.join('?' * 12)})", (*rest, at))
        database.execute("INSERT INTO snapshots VALUES (1, 50, x'00')")
    return file


def test_an_old_log_is_kept(old: Path) -> None:
    with closing(Store(f"sqlite:///{old}")) as store:
        log = store.log(1)
        assert list(log) == LOG
        assert log.snapshot() is None, "a snapshot of another version is of no use"
        assert log.by_device(1, 1)[1].newest == 60 * 49
        again = LOG[0]._replace(seq=51)
        with pytest.raises(sa.exc.IntegrityError):
            log.append([again])
        log.append([again._replace(device=7)])
    with closing(Store(f"sqlite:///{old}")) as store:
        assert len(store.log(1)) == 51


def test_there_is_a_way_back(old: Path) -> None:
    before = contents(old)
    migrate(old, up="0003", down="0002")
    assert contents(old) == before


def contents(file: Path) -> tuple[object, object]:
    with closing(sqlite3.connect(file)) as database:
        columns = database.execute("PRAGMA table_info(checkins)").fetchall()
        return columns, database.execute("SELECT * FROM checkins ORDER BY seq").fetchall()


def test_the_migrations_lead_to_the_schema(store: Store, tmp_path: Path) -> None:
    """Table by table: columns in the order of the schema, keys and what must be unique."""
    inspector = sa.inspect(sa.create_engine(f"sqlite:///{tmp_path / 'store.db'}"))
    for name, table in schema.metadata.tables.items():
        assert [each["name"] for each in inspector.get_columns(name)] == list(table.columns.keys())
        key = inspector.get_pk_constraint(name)["constrained_columns"]
        assert key == [column.name for column in table.primary_key]
        unique = {tuple(each["column_names"]) for each in inspector.get_unique_constraints(name)}
        assert unique == {
            tuple(column.name for column in each.columns)
            for each in table.constraints
            if isinstance(each, sa.UniqueConstraint)
        }


def test_the_log_is_in_the_order_of_its_columns() -> None:
    assert list(LogEntry._fields) == list(schema.checkins.columns.keys())

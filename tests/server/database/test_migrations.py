"""Test that a new database has the newest version, and the tables of the schema."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from crowdml.server import Store
from crowdml.server.database import schema
from crowdml.server.database.log_entry import LogEntry
from crowdml.server.database.opening import HEAD, open_database


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
    trusted = ["add_fk checkins", "add_fk payloads"]
    assert found == (trusted if database.startswith("postgresql") else [])


def test_the_log_is_in_the_order_of_its_columns() -> None:
    assert list(LogEntry._fields) == [*schema.checkins.columns.keys(), "payload", "name"]

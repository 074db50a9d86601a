"""Store the database in an SQLite file."""

import os
import select
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from crowdml.server.database.connection import (
    EVERYTHING,
    LOCK_SECONDS,
    Database,
    DatabaseChanges,
    Values,
    names_of,
)
from crowdml.server.database.owner_settings import SETTINGS_QUERY, OwnerSettings, owner_settings_of


class Sqlite(Database):
    placeholder = "?"
    now_sql = "CAST(strftime('%s', 'now') AS INTEGER)"

    def __init__(self, url: str) -> None:
        _make_private(url)
        engine = sa.create_engine(
            url,
            poolclass=sa.pool.StaticPool,
            hide_parameters=True,
            connect_args={
                "check_same_thread": False,
                "isolation_level": None,
                "timeout": LOCK_SECONDS,
            },
        )

        @sa.event.listens_for(engine, "connect")
        def prepare(connection: Any, _: Any) -> None:
            for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON"):
                connection.execute(f"PRAGMA {pragma}")

        @sa.event.listens_for(engine, "begin")
        def begin(connection: sa.Connection) -> None:
            # A writer takes the lock at once: reading first could fail as busy later.
            writes = connection.info.get("writes", True)
            connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

        super().__init__(engine)
        self._version = self._data_version()

    def reset_sequences(self) -> None:
        """Do nothing: SQLite finds the largest id by itself."""

    def append(self, task: int, rows: Mapping[sa.Table, Sequence[Values]]) -> None:
        """Append rows; SQLite counts the commits of others by itself, so nobody is notified."""
        for table, values in rows.items():
            marks = ", ".join(self.placeholder * len(table.columns))
            statement = f"INSERT INTO {table.name} ({names_of(table)}) VALUES ({marks})"
            self._connection.exec_driver_sql(statement, list(values))

    def lock(self, task: int) -> OwnerSettings:
        """Return the owner's settings; the transaction already holds SQLite's only lock."""
        return owner_settings_of(
            self._connection.exec_driver_sql(SETTINGS_QUERY.format("?"), (task,)).one()
        )

    def notify(self, task: int | None = None) -> None:
        """Do nothing: SQLite counts the commits of others by itself."""

    def changes(self) -> DatabaseChanges:
        version = self._data_version()
        changed, self._version = version != self._version, version
        return EVERYTHING if changed else DatabaseChanges()

    def wait_for_changes(self, seconds: float) -> None:
        select.select([], [], [], seconds)

    def _data_version(self) -> int:
        with self.reading() as connection:
            return int(connection.exec_driver_sql("PRAGMA data_version").scalar_one())


def _make_private(url: str) -> None:
    """Make a new file readable by its owner alone; an existing file keeps its permissions."""
    file = sa.make_url(url).database
    if file and file != ":memory:" and Path(file).parent.is_dir():
        with suppress(OSError):
            os.close(os.open(file, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))

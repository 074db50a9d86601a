"""Store the database on a PostgreSQL server, which wakes the other nodes."""

import select
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
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

MIGRATING = 0x63726F7764
CHANNEL = "crowdml"
LOCK_QUERY = SETTINGS_QUERY.format("%s") + " FOR NO KEY UPDATE"
"""Not FOR UPDATE, which would also block transactions that refer to the task, as enrolling does."""


class PostgreSql(Database):
    placeholder = "%s"
    now_sql = "CAST(floor(extract(epoch FROM clock_timestamp())) AS BIGINT)"

    def __init__(self, url: str) -> None:
        self._url = f"postgresql+psycopg:{url.partition(':')[2]}"
        engine = sa.create_engine(
            self._url,
            poolclass=sa.pool.NullPool,
            hide_parameters=True,
            connect_args={"connect_timeout": LOCK_SECONDS, "prepare_threshold": 2},
        )
        super().__init__(engine)
        self._insertions: dict[sa.Table, str] = {}
        self._listener: Any = None
        self._process = 0
        self._changed_logs = {""}

    def close(self) -> None:
        super().close()
        self._stop_listening()

    @contextmanager
    def consistent_read(self) -> Iterator[sa.Connection]:
        with self.reading() as connection:
            connection.exec_driver_sql("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            yield connection

    def reset_sequences(self) -> None:
        for table in ("actions", "tasks"):
            counter = f"pg_get_serial_sequence('{table}', 'id')"
            self._connection.exec_driver_sql(f"SELECT setval({counter}, max(id)) FROM {table}")

    @contextmanager
    def migrating(self) -> Iterator[sa.Connection]:
        with self.writing() as connection:
            connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({MIGRATING})")
            yield connection

    def append(self, task: int, rows: Mapping[sa.Table, Sequence[Values]]) -> None:
        """Send one statement for each table, with an array for each column, all at once."""
        with self._pipeline() as driver:
            for table, values in rows.items():
                columns = [list(column) for column in zip(*values, strict=True)]
                driver.execute(self._insertion(table), columns)
            driver.execute(_notification(task))
            self._process = driver.info.backend_pid

    def _insertion(self, table: sa.Table) -> str:
        if table not in self._insertions:
            dialect = self._engine.dialect
            arrays = ", ".join(f"%b::{column.type.compile(dialect)}[]" for column in table.columns)
            self._insertions[table] = (
                f"INSERT INTO {table.name} ({names_of(table)}) SELECT * FROM unnest({arrays})"
            )
        return self._insertions[table]

    def lock(self, task: int) -> OwnerSettings:
        return owner_settings_of(self._connection.exec_driver_sql(LOCK_QUERY, (task,)).one())

    def query_locked(
        self, task: int, query: str, values: Values
    ) -> tuple[OwnerSettings, Sequence[Values]]:
        with self._pipeline() as driver:
            locked, asked = driver.execute(LOCK_QUERY, (task,)), driver.execute(query, values)
        return owner_settings_of(locked.fetchone()), asked.fetchall()

    @contextmanager
    def _pipeline(self) -> Iterator[Any]:
        """Open the driver's pipeline: statements whose answers are awaited together, at the end."""
        import psycopg

        try:
            driver: Any = self._connection.connection.driver_connection
            with driver.pipeline():
                yield driver
        except psycopg.IntegrityError as error:
            raise sa.exc.IntegrityError(None, None, error) from error
        except psycopg.Error as error:
            if driver.closed:
                self._connection.invalidate()
            raise sa.exc.OperationalError(None, None, error) from error

    def notify(self, task: int | None = None) -> None:
        self._connection.exec_driver_sql(_notification(task))
        driver: Any = self._connection.connection.dbapi_connection
        self._process = driver.info.backend_pid

    def changes(self) -> DatabaseChanges:
        changed, self._changed_logs = self._changed_logs, set()
        if "" in changed:
            return EVERYTHING
        return DatabaseChanges(logs=frozenset(map(int, changed)))

    def wait_for_changes(self, seconds: float) -> None:
        """Wait on a separate connection, so that other statements need not wait.

        A listener that has just connected reports changes, because it missed earlier notifications.
        """
        import psycopg

        try:
            if self._listener is None:
                url = sa.make_url(self._url).set(drivername="postgresql")
                self._listener = psycopg.connect(
                    url.render_as_string(hide_password=False), autocommit=True
                )
                self._listener.execute(f"LISTEN {CHANNEL}")
                self._changed_logs.add("")
                return
            for notice in self._listener.notifies(timeout=seconds, stop_after=1):
                if notice.pid != self._process:
                    self._changed_logs.add(notice.payload)
        except psycopg.OperationalError:
            self._stop_listening()
            select.select([], [], [], seconds)

    def _stop_listening(self) -> None:
        if self._listener is not None:
            with suppress(Exception):
                self._listener.close()
            self._listener = None


def _notification(task: int | None) -> str:
    return f"NOTIFY {CHANNEL}, '{'' if task is None else task}'"

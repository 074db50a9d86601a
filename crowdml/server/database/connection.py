"""Define what a connection to the database can do, on SQLite and on PostgreSQL."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, NamedTuple, TypeAlias

import sqlalchemy as sa

from crowdml.server.database.owner_settings import OwnerSettings

LOCK_SECONDS = 10
"""Seconds for which this process waits for a lock of another process."""

Values: TypeAlias = tuple[Any, ...]


class DatabaseChanges(NamedTuple):
    """Name what may have changed: tasks and devices, and the logs of some tasks, or any if None."""

    tasks: bool = False
    logs: frozenset[int] | None = frozenset()

    def __bool__(self) -> bool:
        return self.tasks or self.logs != frozenset()


EVERYTHING = DatabaseChanges(True, None)


class Database(ABC):
    """Use a database from one thread at a time.

    Transactions may be nested: what is inside belongs to the outermost. Those that only read
    never wait for another process.
    """

    placeholder: str
    """The placeholder for a value in a statement that goes to the driver unchanged."""

    now_sql: str
    """The time in whole seconds since 1970, as an expression of SQL: the same for all nodes."""

    def __init__(self, engine: sa.Engine) -> None:
        self._engine = engine
        # As people write it: the driver is not part of what they typed.
        shown = engine.url.set(drivername=engine.dialect.name)
        self.name = shown.render_as_string(hide_password=True)
        self._connection = engine.connect()

    def close(self) -> None:
        self._connection.close()
        self._engine.dispose()

    def reading(self) -> AbstractContextManager[sa.Connection]:
        return self._transaction(writes=False)

    def writing(self) -> AbstractContextManager[sa.Connection]:
        """Write in a transaction: at its end the data are on disk, or it raises an exception."""
        return self._transaction(writes=True)

    @contextmanager
    def _transaction(self, writes: bool) -> Iterator[sa.Connection]:
        if self._connection.in_transaction():
            yield self._connection
            return
        self._connection.info["writes"] = writes
        with self._connection.begin():
            yield self._connection

    def consistent_read(self) -> AbstractContextManager[sa.Connection]:
        """Read in a transaction in which every statement sees the same moment."""
        return self.reading()

    @abstractmethod
    def reset_sequences(self) -> None:
        """Make new ids follow the ids of rows that were written with explicit ids."""

    def migrating(self) -> AbstractContextManager[sa.Connection]:
        """Change tables while no other process changes them."""
        return self.writing()

    @abstractmethod
    def lock(self, task: int) -> OwnerSettings:
        """Lock a task against appends until the transaction ends; return the owner's settings.

        `Rejected` if the task is gone.
        """

    def query_locked(
        self, task: int, query: str, values: Values
    ) -> tuple[OwnerSettings, Sequence[Values]]:
        """Lock a task, then run a query; return the owner's settings and the rows."""
        owner_settings = self.lock(task)
        return owner_settings, self._connection.exec_driver_sql(query, values).all()

    @abstractmethod
    def append(self, task: int, rows: Mapping[sa.Table, Sequence[Values]]) -> None:
        """Append rows to the log of a task and notify other processes, all or nothing.

        Rows are plain tuples in the order of the columns, because SQLAlchemy would inspect every
        value.
        """

    @abstractmethod
    def notify(self, task: int | None = None) -> None:
        """Wake the other processes when this transaction is on disk.

        Args:
            task: The task whose log has grown, or that has a new device; None for other changes.
        """

    @abstractmethod
    def changes(self) -> DatabaseChanges:
        """Return what other processes have written since the last call."""

    @abstractmethod
    def wait_for_changes(self, seconds: float) -> None:
        """Return when there may be changes, or after `seconds`; any thread may call it."""


def names_of(table: sa.Table) -> str:
    """List the names of a table's columns for an SQL statement."""
    return ", ".join(column.name for column in table.columns)

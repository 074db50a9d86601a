"""One connection to SQLite or PostgreSQL, and all that differs between the two."""

import os
import select
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import sqlalchemy as sa

from crowdml.errors import CrowdmlError, InvalidInput

__all__ = ["Database", "News", "open_database"]

PATIENCE = 10
"""Seconds for which another process may hold a lock before this one gives up."""

MIGRATIONS = Path(__file__).with_name("migrations")
HEAD = max(file.name[:4] for file in MIGRATIONS.glob("versions/*.py"))
MIGRATING = 0x63726F7764
CHANNEL = "crowdml"


class News(NamedTuple):
    """What may have changed: tasks and devices, and the logs of these tasks, or of any if None."""

    tasks: bool = False
    logs: frozenset[int] | None = frozenset()

    def __bool__(self) -> bool:
        return self.tasks or self.logs != frozenset()


EVERYTHING = News(True, None)


class Database(ABC):
    """Used by one thread at a time.

    Transactions may be nested: what is inside belongs to the outermost. Those that only read
    never wait for another process.
    """

    mark: str
    """What stands for a value in a statement that goes to the driver as it is."""

    clock: str
    """The time in whole seconds since 1970, as an expression of SQL: the same for all nodes."""

    def __init__(self, engine: sa.Engine) -> None:
        self._engine = engine
        self._connection = engine.connect()

    def close(self) -> None:
        self._connection.close()
        self._engine.dispose()

    @contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        with self._transaction(writes=False) as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[sa.Connection]:
        """When it ends, what was written is on disk, or an exception says that it is not."""
        with self._transaction(writes=True) as connection:
            yield connection

    @contextmanager
    def _transaction(self, writes: bool) -> Iterator[sa.Connection]:
        if self._connection.in_transaction():
            yield self._connection
            return
        self._connection.info["writes"] = writes
        with self._connection.begin():
            yield self._connection

    @contextmanager
    def snapshot(self) -> Iterator[sa.Connection]:
        """Every statement reads the same moment, however long all of them take."""
        with self.reading() as connection:
            yield connection

    @abstractmethod
    def count_on(self) -> None:
        """Rows were written with ids of their own: let new ones follow them."""

    @contextmanager
    def migrating(self) -> Iterator[sa.Connection]:
        """No other process changes tables at the same time."""
        with self.writing() as connection:
            yield connection

    @abstractmethod
    def insert(
        self, connection: sa.Connection, table: sa.Table, rows: Sequence[tuple[Any, ...]]
    ) -> None:
        """Rows as they are, in the order of the columns: SQLAlchemy would look at every value."""

    @abstractmethod
    def lock(self, task: int) -> str:
        """Let nobody else append to this task until the transaction ends; the owner's wish."""

    @abstractmethod
    def tell(self, task: int | None = None) -> None:
        """Wake the other processes when this transaction is on disk.

        Args:
            task: Whose log has grown, or who has a new device; None for any other change.
        """

    @abstractmethod
    def news(self) -> News:
        """What other processes have written since the last call."""

    @abstractmethod
    def wait(self, seconds: float) -> None:
        """Return when there may be news, or after so long. Any thread may call it."""


class Sqlite(Database):
    mark = "?"
    clock = "CAST(strftime('%s', 'now') AS INTEGER)"

    def __init__(self, url: str) -> None:
        _make_private(url)
        engine = sa.create_engine(
            url,
            poolclass=sa.pool.StaticPool,
            hide_parameters=True,
            connect_args={
                "check_same_thread": False,
                "isolation_level": None,
                "timeout": PATIENCE,
            },
        )

        @sa.event.listens_for(engine, "connect")
        def prepare(connection: Any, _: Any) -> None:
            for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON"):
                connection.execute(f"PRAGMA {pragma}")

        @sa.event.listens_for(engine, "begin")
        def begin(connection: sa.Connection) -> None:
            # Whoever writes takes the lock at once: reading first could later fail as busy.
            writes = connection.info.get("writes", True)
            connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

        super().__init__(engine)
        self._version = self._data_version()

    def count_on(self) -> None:
        """SQLite looks for the largest id by itself."""

    def insert(
        self, connection: sa.Connection, table: sa.Table, rows: Sequence[tuple[Any, ...]]
    ) -> None:
        marks = ", ".join(self.mark * len(table.columns))
        statement = f"INSERT INTO {table.name} ({_names(table)}) VALUES ({marks})"
        connection.exec_driver_sql(statement, list(rows))

    def lock(self, task: int) -> str:
        """The transaction has the lock already: SQLite has one for all."""
        query = sa.text("SELECT state FROM tasks WHERE id = :task")
        return str(self._connection.execute(query, {"task": task}).scalar_one())

    def tell(self, task: int | None = None) -> None:
        """SQLite counts the commits of others by itself."""

    def news(self) -> News:
        version = self._data_version()
        changed, self._version = version != self._version, version
        return EVERYTHING if changed else News()

    def wait(self, seconds: float) -> None:
        select.select([], [], [], seconds)

    def _data_version(self) -> int:
        with self.reading() as connection:
            return int(connection.exec_driver_sql("PRAGMA data_version").scalar_one())


class PostgreSql(Database):
    mark = "%s"
    clock = "CAST(floor(extract(epoch FROM clock_timestamp())) AS BIGINT)"

    def __init__(self, url: str) -> None:
        self._url = _with_driver(url)
        engine = sa.create_engine(
            self._url,
            poolclass=sa.pool.NullPool,
            hide_parameters=True,
            connect_args={"connect_timeout": PATIENCE, "prepare_threshold": 2},
        )
        super().__init__(engine)
        self._listener: Any = None
        self._process = 0
        self._heard = {""}

    def close(self) -> None:
        super().close()
        self._deafen()

    @contextmanager
    def snapshot(self) -> Iterator[sa.Connection]:
        with self.reading() as connection:
            connection.exec_driver_sql("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            yield connection

    def count_on(self) -> None:
        for table in ("actions", "tasks"):
            counter = f"pg_get_serial_sequence('{table}', 'id')"
            self._connection.exec_driver_sql(f"SELECT setval({counter}, max(id)) FROM {table}")

    @contextmanager
    def migrating(self) -> Iterator[sa.Connection]:
        with self.writing() as connection:
            connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({MIGRATING})")
            yield connection

    def insert(
        self, connection: sa.Connection, table: sa.Table, rows: Sequence[tuple[Any, ...]]
    ) -> None:
        """One statement with an array for each column, however many rows there are."""
        kinds = [column.type.compile(connection.dialect) for column in table.columns]
        arrays = ", ".join(f"%s::{kind}[]" for kind in kinds)
        columns = tuple(list(column) for column in zip(*rows, strict=True))
        statement = f"INSERT INTO {table.name} ({_names(table)}) SELECT * FROM unnest({arrays})"
        connection.exec_driver_sql(statement, columns)

    def lock(self, task: int) -> str:
        # Not FOR UPDATE: that would also stop whoever refers to the task, say by enrolling.
        query = sa.text("SELECT state FROM tasks WHERE id = :task FOR NO KEY UPDATE")
        return str(self._connection.execute(query, {"task": task}).scalar_one())

    def tell(self, task: int | None = None) -> None:
        payload = "" if task is None else str(task)
        self._connection.exec_driver_sql(f"NOTIFY {CHANNEL}, '{payload}'")
        driver: Any = self._connection.connection.dbapi_connection
        self._process = driver.info.backend_pid

    def news(self) -> News:
        heard, self._heard = self._heard, set()
        if "" in heard:
            return EVERYTHING
        return News(logs=frozenset(map(int, heard)))

    def wait(self, seconds: float) -> None:
        """On a connection of its own, so that waiting disturbs nobody.

        What was told while nobody listened cannot be heard, so a new listener always has news.
        """
        import psycopg

        try:
            if self._listener is None:
                url = sa.make_url(self._url).set(drivername="postgresql")
                self._listener = psycopg.connect(
                    url.render_as_string(hide_password=False), autocommit=True
                )
                self._listener.execute(f"LISTEN {CHANNEL}")
                self._heard.add("")
                return
            for told in self._listener.notifies(timeout=seconds, stop_after=1):
                if told.pid != self._process:
                    self._heard.add(told.payload)
        except psycopg.OperationalError:
            self._deafen()
            select.select([], [], [], seconds)

    def _deafen(self) -> None:
        if self._listener is not None:
            with suppress(Exception):
                self._listener.close()
            self._listener = None


def open_database(url: str) -> Database:
    """`CrowdmlError` if it cannot be used, with the reason."""
    scheme = url.partition(":")[0].partition("+")[0]
    if scheme not in ("sqlite", "postgresql"):
        raise InvalidInput(
            "the database must be a URL such as sqlite:///crowdml.db or "
            f"postgresql://user@host/crowdml, found {url!r}."
        )
    try:
        database = Sqlite(url) if scheme == "sqlite" else PostgreSql(url)
        _migrate(database)
    except ModuleNotFoundError as error:
        raise CrowdmlError(
            "PostgreSQL needs psycopg: pip install 'crowdml[postgresql]'."
        ) from error
    except (sa.exc.ArgumentError, ValueError) as error:
        raise InvalidInput(f"the database must be a URL, found {url!r}: {error}.") from error
    except sa.exc.DatabaseError as error:
        shown = sa.make_url(url).render_as_string(hide_password=True)
        raise CrowdmlError(
            f"cannot use the database {shown}: {str(error.orig).strip()}."
        ) from error
    return database


def _migrate(database: Database) -> None:
    from alembic import command
    from alembic.config import Config
    from alembic.migration import MigrationContext

    with database.reading() as connection:
        found = MigrationContext.configure(connection).get_current_revision()
        if found == HEAD:
            return
        if found is not None and found > HEAD:
            raise CrowdmlError(
                f"the database must be of a version up to {HEAD}, found {found}, which a newer "
                "crowdml has made. Install that, or restore the backup from before it."
            )
    with database.migrating() as connection:
        config = Config()
        config.set_main_option("script_location", str(MIGRATIONS))
        config.attributes["connection"] = connection
        command.upgrade(config, "head")


def _names(table: sa.Table) -> str:
    return ", ".join(column.name for column in table.columns)


def _with_driver(url: str) -> str:
    return f"postgresql+psycopg:{url.partition(':')[2]}"


def _make_private(url: str) -> None:
    """A new file is readable by its owner alone; one that exists keeps its rights."""
    file = sa.make_url(url).database
    if file and file != ":memory:" and Path(file).parent.is_dir():
        with suppress(OSError):
            os.close(os.open(file, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))

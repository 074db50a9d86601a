"""One connection to SQLite or PostgreSQL, and all that differs between the two."""

import os
import select
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import sqlalchemy as sa

from crowdml.errors import CrowdmlError, InvalidInput
from crowdml.phrase import Phrase
from crowdml.protocol import rejected

__all__ = ["DELETED", "Database", "News", "Wish", "open_database"]

PATIENCE = 10
"""Seconds for which another process may hold a lock before this one gives up."""

MIGRATIONS = Path(__file__).with_name("migrations")
HEAD = max(file.name[:4] for file in MIGRATIONS.glob("versions/*.py"))
MIGRATING = 0x63726F7764
CHANNEL = "crowdml"
ASK = "SELECT state, reopened, edited FROM tasks WHERE id = {}"
LOCK = ASK.format("%s") + " FOR NO KEY UPDATE"
"""Not FOR UPDATE: that would also stop whoever refers to the task, say by enrolling."""

DELETED = "deleted"
"""The state of a task that is gone. Its row stays, so that no other task gets its number."""

Values: TypeAlias = tuple[Any, ...]


class News(NamedTuple):
    """What may have changed: tasks and devices, and the logs of these tasks, or of any if None."""

    tasks: bool = False
    logs: frozenset[int] | None = frozenset()

    def __bool__(self) -> bool:
        return self.tasks or self.logs != frozenset()


EVERYTHING = News(True, None)


class Wish(NamedTuple):
    """What the owner wants of a task: its state, after which check-ins it was reopened, and how
    often its title, objective or end were edited."""

    state: str = "running"
    reopened: str = ""
    edited: int = 0


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
    def lock(self, task: int) -> Wish:
        """Let nobody else append to this task until the transaction ends; the owner's wish.

        `Rejected` if the task is gone.
        """

    def ask_locked(self, task: int, query: str, values: Values) -> tuple[Wish, Sequence[Values]]:
        """Lock a task, and then ask: the owner's wish, and the rows."""
        wish = self.lock(task)
        return wish, self._connection.exec_driver_sql(query, values).all()

    @abstractmethod
    def append(self, task: int, rows: Mapping[sa.Table, Sequence[Values]]) -> None:
        """Add rows to the log of a task and tell the others, all or nothing.

        The rows are as they are, in the order of the columns: SQLAlchemy would look at every value.
        """

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

    def append(self, task: int, rows: Mapping[sa.Table, Sequence[Values]]) -> None:
        """SQLite counts the commits of others by itself, so there is nothing to tell."""
        for table, values in rows.items():
            marks = ", ".join(self.mark * len(table.columns))
            statement = f"INSERT INTO {table.name} ({_names(table)}) VALUES ({marks})"
            self._connection.exec_driver_sql(statement, list(values))

    def lock(self, task: int) -> Wish:
        """The transaction has the lock already: SQLite has one for all."""
        return _wish(self._connection.exec_driver_sql(ASK.format("?"), (task,)).one())

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
        self._insertions: dict[sa.Table, str] = {}
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

    def append(self, task: int, rows: Mapping[sa.Table, Sequence[Values]]) -> None:
        """One statement for each table, with an array for each column, all sent at once."""
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
                f"INSERT INTO {table.name} ({_names(table)}) SELECT * FROM unnest({arrays})"
            )
        return self._insertions[table]

    def lock(self, task: int) -> Wish:
        return _wish(self._connection.exec_driver_sql(LOCK, (task,)).one())

    def ask_locked(self, task: int, query: str, values: Values) -> tuple[Wish, Sequence[Values]]:
        with self._pipeline() as driver:
            locked, asked = driver.execute(LOCK, (task,)), driver.execute(query, values)
        return _wish(locked.fetchone()), asked.fetchall()

    @contextmanager
    def _pipeline(self) -> Iterator[Any]:
        """The driver itself, and statements whose answers are waited for together, at the end."""
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

    def tell(self, task: int | None = None) -> None:
        self._connection.exec_driver_sql(_notification(task))
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
    # Without a file it would be in memory, where no other process sees it.
    if scheme not in ("sqlite", "postgresql") or url.rstrip("/") == "sqlite:":
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


def _wish(row: Sequence[Any]) -> Wish:
    wish = Wish(*row)
    if wish.state == DELETED:
        raise rejected("not-found", Phrase("the task was deleted by its owner."))
    return wish


def _notification(task: int | None) -> str:
    return f"NOTIFY {CHANNEL}, '{'' if task is None else task}'"


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

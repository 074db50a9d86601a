"""Open an SQLite file that only its owner can read, and that overwrites what is deleted."""

import sqlite3
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from crowdml.errors import DeviceError

VERSION = 7
"""The version of the tables in every file."""

SUFFIXES = ("", "-wal", "-shm", "-journal")
"""The files that SQLite keeps for one database."""

REMEDIES = {
    "full": "Make room on the disk and start again: nothing is lost.",
    "disk I/O error": "Make room on the disk, or see to the disk, and start again.",
    "malformed": "It is damaged: put it aside, and join again with another file.",
    "not a database": "It is damaged: put it aside, and join again with another file.",
}
"""What to do about an error, by words in SQLite's message."""


class PrivateDatabase:
    """Open one file that belongs to one program, and that several processes may use at once.

    Args:
        schema: The statements that make the tables of a new file.
        kind: What to call the file in errors.
    """

    def __init__(self, file: Path, schema: Sequence[str], kind: str) -> None:
        self.file = file
        self._kind = kind
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.touch(mode=0o600)
            self._db = sqlite3.connect(
                file, isolation_level=None, timeout=10.0, check_same_thread=False
            )
        except (OSError, sqlite3.Error) as error:
            raise self._unusable(error) from error
        try:
            self._require_own()
            _narrow(file)
            self._prepare(schema)
        except OSError as error:
            self._db.close()
            raise self._unusable(error) from error
        except BaseException:
            self._db.close()
            raise

    def _require_own(self) -> int:
        """Return the version of the tables, 0 for a new file; raise for another program's file."""
        version = int(self.execute("PRAGMA user_version").fetchone()[0])
        if not version and self.execute("SELECT 1 FROM sqlite_master").fetchone():
            raise DeviceError(f"{self.file} is another database. Name a {self._kind}.")
        if version not in (0, VERSION):
            raise DeviceError(
                f"the {self._kind} {self.file} must be of version {VERSION}, found {version}. "
                "Use the version of crowdml that has written it."
            )
        return version

    def _prepare(self, schema: Sequence[str]) -> None:
        self.execute("PRAGMA journal_mode = WAL")
        # Set explicitly, because SQLite's default depends on its build: overwrite deleted content
        # with zeros.
        self.execute("PRAGMA secure_delete = ON")
        self.execute("PRAGMA temp_store = MEMORY")
        with self.transaction(durable=True):
            if not self._require_own():
                for statement in schema:
                    self.execute(statement)
                self.execute(f"PRAGMA user_version = {VERSION}")

    def execute(self, query: str, values: Sequence[Any] = ()) -> sqlite3.Cursor:
        try:
            return self._db.execute(query, values)
        except sqlite3.IntegrityError:
            raise
        except sqlite3.ProgrammingError as error:
            if "closed" in str(error):
                raise DeviceError(
                    f"the {self._kind} {self.file} is closed. Open it anew."
                ) from error
            raise
        except sqlite3.Error as error:
            raise self._unusable(error) from error

    def rows(self, query: str, values: Sequence[Any] = ()) -> list[Any]:
        """Run a statement to its end, because SQLite commits only then outside a transaction."""
        cursor = self.execute(query, values)
        try:
            return cursor.fetchall()
        except sqlite3.Error as error:
            raise self._unusable(error) from error

    def _unusable(self, error: Exception) -> DeviceError:
        remedy = next((words for found, words in REMEDIES.items() if found in str(error)), "")
        said = getattr(error, "strerror", None) or error
        return DeviceError(f"cannot use the {self._kind} {self.file}: {said}. {remedy}".rstrip())

    @contextmanager
    def transaction(self, durable: bool = False) -> Iterator[None]:
        """Run a transaction alone; if durable, it and all earlier ones are on disk at its end."""
        if durable:
            self.execute("PRAGMA synchronous = FULL")
        try:
            self.execute("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                if self._db.in_transaction:  # SQLite ends it by itself where the disk is full
                    self.execute("ROLLBACK")
                raise
            self.execute("COMMIT")
        finally:
            if durable:
                self.execute("PRAGMA synchronous = NORMAL")

    def forget(self) -> None:
        """Empty the write-ahead log, which still holds content that was deleted from the file.

        While somebody reads, another process or another thread, the log stays until the next time.
        """
        with suppress(DeviceError, sqlite3.OperationalError):
            self.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def close(self) -> None:
        self._db.close()

    def remove(self) -> None:
        self._db.close()
        for suffix in SUFFIXES:
            Path(f"{self.file}{suffix}").unlink(missing_ok=True)


def _narrow(file: Path) -> None:
    """Restrict the database's files to their owner again, if somebody has widened access."""
    for path in (Path(f"{file}{suffix}") for suffix in SUFFIXES):
        with suppress(FileNotFoundError):
            if stat.S_IMODE(path.stat().st_mode) & 0o077:
                path.chmod(0o600)

"""A SQLite file, private to its owner, that forgets what it is told to forget."""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from crowdml.errors import DeviceError

VERSION = 5
"""The version of the tables in every file."""


class PrivateDatabase:
    """One file of one program, which several processes may use at once.

    Args:
        schema: The statements that make the tables of a new file.
        kind: What to call the file in errors.
    """

    def __init__(self, file: Path, schema: str, kind: str) -> None:
        self.file = file
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.touch(mode=0o600)
            self._db = sqlite3.connect(
                file, isolation_level=None, timeout=10.0, check_same_thread=False
            )
            self.execute("PRAGMA journal_mode = WAL")
            # Not left to how SQLite was built: what is deleted is overwritten with zeros.
            self.execute("PRAGMA secure_delete = ON")
            self.execute("PRAGMA temp_store = MEMORY")
            with self.transaction(durable=True):
                version = self.execute("PRAGMA user_version").fetchone()[0]
                if not version and self.execute("SELECT 1 FROM sqlite_master").fetchone():
                    raise DeviceError(f"{file} is another database. Name a {kind}.")
                if version not in (0, VERSION):
                    raise DeviceError(
                        f"the {kind} {file} must be of version {VERSION}, found {version}. Use the "
                        "version of crowdml that has written it."
                    )
                if not version:
                    for statement in _statements(schema):
                        self.execute(statement)
                    self.execute(f"PRAGMA user_version = {VERSION}")
        except (OSError, sqlite3.Error) as error:
            raise DeviceError(f"cannot use the {kind} {file}: {error}.") from error

    def execute(self, query: str, values: Sequence[Any] = ()) -> sqlite3.Cursor:
        return self._db.execute(query, values)

    @contextmanager
    def transaction(self, durable: bool = False) -> Iterator[None]:
        """All or nothing, alone; if durable, on disk at its end, with all that was before it."""
        if durable:
            self.execute("PRAGMA synchronous = FULL")
        try:
            self.execute("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                self.execute("ROLLBACK")
                raise
            self.execute("COMMIT")
        finally:
            if durable:
                self.execute("PRAGMA synchronous = NORMAL")

    def forget(self) -> None:
        """Empty the write-ahead log, which still has what was deleted from the file.

        While somebody reads, another process or another thread, the log stays until the next time.
        """
        with suppress(sqlite3.OperationalError):
            self.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def close(self) -> None:
        self._db.close()

    def remove(self) -> None:
        self._db.close()
        for suffix in ("", "-wal", "-shm", "-journal"):
            Path(f"{self.file}{suffix}").unlink(missing_ok=True)


def _statements(script: str) -> list[str]:
    statements, current = [], ""
    for line in script.strip().splitlines():
        current += line + "\n"
        if sqlite3.complete_statement(current):
            statements.append(current)
            current = ""
    return statements

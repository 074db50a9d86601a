"""The device's memory: one SQLite file with buffer, outbox, ledger, token and terms.

Every method is one durable transaction. The step that matters is `release`: it takes the samples
out of the buffer, writes the cost into the ledger and the sanitised bytes into the outbox, all or
nothing, before a single byte is sent.
"""

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np

from crowdml.errors import DeviceError
from crowdml.privacy import CheckinRelease, Ledger, Limits
from crowdml.types import Array

__all__ = ["DeviceStore", "Identity", "Letter", "Position", "default_file"]

SCHEMAS = (
    """
CREATE TABLE identity (
    one INTEGER PRIMARY KEY CHECK (one = 1), document BLOB NOT NULL
) STRICT;
CREATE TABLE buffer (
    id INTEGER PRIMARY KEY AUTOINCREMENT, x BLOB NOT NULL, y REAL NOT NULL
) STRICT;
CREATE TABLE outbox (id TEXT PRIMARY KEY, body BLOB NOT NULL) STRICT;
CREATE TABLE ledger (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    checkin TEXT NOT NULL UNIQUE,
    event BLOB NOT NULL
) STRICT;
CREATE TABLE answers (checkin TEXT PRIMARY KEY, answer TEXT NOT NULL) STRICT;
CREATE TRIGGER ledger_is_append_only_1 BEFORE UPDATE ON ledger
    BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER ledger_is_append_only_2 BEFORE DELETE ON ledger
    BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
PRAGMA user_version = 1;
""",
    """
CREATE TABLE sources (
    path TEXT PRIMARY KEY, lines INTEGER NOT NULL, sha256 TEXT NOT NULL
) STRICT;
PRAGMA user_version = 2;
""",
)
"""What makes a file of each version from one of the version before."""


@dataclass(frozen=True)
class Identity:
    """Who the device is, where it takes part and what it agreed to."""

    url: str
    task: str
    device: str
    token: str
    terms: str
    limits: Limits
    certificate: str | None = None
    insecure_http: bool = False
    ended: str | None = None


@dataclass(frozen=True)
class Letter:
    """A sanitised check-in that waits to be sent, with the exact bytes of its body."""

    id: str
    body: bytes


@dataclass(frozen=True)
class Position:
    """How far a file of samples was taken: so many lines, and the hash to know them by."""

    path: str
    lines: int
    sha256: str


class DeviceStore:
    """One file, private to its owner."""

    def __init__(self, file: Path) -> None:
        self.file = file
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.touch(mode=0o600)
            self._db = sqlite3.connect(
                file, isolation_level=None, timeout=10.0, check_same_thread=False
            )
            self._db.execute("PRAGMA journal_mode = WAL")
            self._db.execute("PRAGMA synchronous = FULL")
            with self._transaction():
                version = self._db.execute("PRAGMA user_version").fetchone()[0]
                if not version and self._db.execute("SELECT 1 FROM sqlite_master").fetchone():
                    raise DeviceError(f"{file} is another database. Name a device file.")
                for script in SCHEMAS[version:]:
                    for statement in _statements(script):
                        self._db.execute(statement)
        except (OSError, sqlite3.Error) as error:
            raise DeviceError(f"cannot use the device file {file}: {error}.") from error

    def close(self) -> None:
        self._db.close()

    def erase(self) -> None:
        """Forget everything, on disk too."""
        self._db.close()
        for suffix in ("", "-wal", "-shm"):
            Path(f"{self.file}{suffix}").unlink(missing_ok=True)

    # Identity

    @property
    def identity(self) -> Identity | None:
        row = self._db.execute("SELECT document FROM identity").fetchone()
        return msgspec.msgpack.decode(row[0], type=Identity) if row else None

    @identity.setter
    def identity(self, identity: Identity) -> None:
        document = msgspec.msgpack.encode(identity)
        with self._transaction():
            self._db.execute("INSERT OR REPLACE INTO identity VALUES (1, ?)", (document,))

    # Buffer

    @property
    def n_samples(self) -> int:
        """n_s, asked of the file: another process may have used it."""
        return int(self._db.execute("SELECT count(*) FROM buffer").fetchone()[0])

    def add(self, x: Array, y: float, most: int, position: Position | None = None) -> bool:
        """Keep a sample, unless there are so many already: another process may have added some.

        Where it came from is written in the same transaction: no crash makes a later run take it
        again. Of several samples that end at one line, a crash may lose those after the first.
        """
        query = "INSERT INTO buffer (x, y) SELECT ?, ? WHERE (SELECT count(*) FROM buffer) < ?"
        with self._transaction():
            row = (x.astype("<f8").tobytes(), y, most)
            kept = self._db.execute(query, row).rowcount == 1
            if kept and position:
                place = (position.path, position.lines, position.sha256)
                self._db.execute("INSERT OR REPLACE INTO sources VALUES (?, ?, ?)", place)
        return kept

    def position(self, path: str) -> Position | None:
        """How far this file of samples was taken."""
        query = "SELECT path, lines, sha256 FROM sources WHERE path = ?"
        row = self._db.execute(query, (path,)).fetchone()
        return Position(*row) if row else None

    # Outbox and ledger

    def release(
        self, sanitize: Callable[[Array, Array, Ledger], tuple[Letter, CheckinRelease] | None]
    ) -> Letter | None:
        """Turn the whole buffer into one letter, in one transaction, unless `sanitize` declines.

        The write lock is held from reading the samples to storing the letter, so no other
        process can use a sample again or spend the same ε.
        """
        with self._transaction():
            rows = self._db.execute("SELECT id, x, y FROM buffer ORDER BY id").fetchall()
            x = np.array([np.frombuffer(row[1], dtype="<f8") for row in rows])
            y = np.array([row[2] for row in rows])
            made = sanitize(x, y, self.ledger)
            if made is None:
                return None
            letter, event = made
            self._db.execute("INSERT INTO outbox VALUES (?, ?)", (letter.id, letter.body))
            self._db.execute(
                "INSERT INTO ledger (checkin, event) VALUES (?, ?)",
                (letter.id, msgspec.msgpack.encode(event)),
            )
            self._db.execute("DELETE FROM buffer WHERE id <= ?", (rows[-1][0],))
        return letter

    @property
    def pending(self) -> Letter | None:
        """The letter that still has to be answered."""
        row = self._db.execute("SELECT id, body FROM outbox").fetchone()
        return Letter(*row) if row else None

    def answered(self, letter: Letter, answer: str) -> None:
        """The server's word on a letter: it never needs to be sent again."""
        with self._transaction():
            self._db.execute("DELETE FROM outbox WHERE id = ?", (letter.id,))
            self._db.execute("INSERT OR IGNORE INTO answers VALUES (?, ?)", (letter.id, answer))

    @property
    def ledger(self) -> Ledger:
        rows = self._db.execute("SELECT event FROM ledger ORDER BY seq").fetchall()
        return Ledger.of(msgspec.msgpack.decode(row[0], type=CheckinRelease) for row in rows)

    @property
    def answers(self) -> dict[str, str]:
        """What the server said to each check-in of the ledger, in order."""
        query = "SELECT checkin, answer FROM ledger LEFT JOIN answers USING (checkin) ORDER BY seq"
        return {checkin: answer or "waiting" for checkin, answer in self._db.execute(query)}

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._db.execute("ROLLBACK")
            raise
        self._db.execute("COMMIT")


def _statements(script: str) -> list[str]:
    statements, current = [], ""
    for line in script.strip().splitlines():
        current += line + "\n"
        if sqlite3.complete_statement(current):
            statements.append(current)
            current = ""
    return statements


def default_file(task: str) -> Path:
    """Where a device of this task lives unless told otherwise."""
    base = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(base) / "crowdml" / f"{task}.device"

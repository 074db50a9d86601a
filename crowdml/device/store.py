"""The device's memory: one SQLite file with buffer, outbox, ledger, token and terms.

Every method is one transaction, which no end of the process undoes. The step that matters is
`release`: it takes the samples out of the buffer, writes the cost into the ledger and the
sanitised bytes into the outbox, all or nothing, and waits for the disk before a single byte is
sent. So a power cut undoes no cost and no agreement; what it may take is samples since the last
check-in, each with its place in its file, and the server's last answer, which is then given again.
To wait for the disk at every sample would cost more than all the rest, and wear it out; it is done
for samples that nobody has any more once they are acknowledged.
"""

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np

from crowdml.errors import DeviceError
from crowdml.privacy import CheckinEvent, DirectionEvent, Ledger, Limits, NoiseEvent
from crowdml.types import Array

__all__ = ["DeviceStore", "Identity", "Letter", "Position", "Standing", "default_file"]

SCHEMAS = (
    """
CREATE TABLE identity (
    one INTEGER PRIMARY KEY CHECK (one = 1), document BLOB NOT NULL
) STRICT;
CREATE TABLE buffer (id INTEGER PRIMARY KEY, x BLOB NOT NULL, y REAL NOT NULL) STRICT;
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

N_SAMPLES = "coalesce((SELECT max(id) FROM buffer) - (SELECT min(id) FROM buffer) + 1, 0)"
"""Samples are added one by one and taken all at once, so their ids have no gaps."""

STANDING = f"{N_SAMPLES}, EXISTS (SELECT 1 FROM outbox)"
ADD = f"INSERT INTO buffer (x, y) SELECT ?, ? WHERE {N_SAMPLES} < ? RETURNING {STANDING}"


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
    """How far a source was taken: so many lines or messages, and the hash to know them by."""

    path: str
    lines: int
    sha256: str


class Standing(NamedTuple):
    """How many samples are in the buffer, and whether a letter still has to be answered."""

    n_samples: int
    pending: bool


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
            with self._durable_transaction():
                version = self._db.execute("PRAGMA user_version").fetchone()[0]
                if not version and self._db.execute("SELECT 1 FROM sqlite_master").fetchone():
                    raise DeviceError(f"{file} is another database. Name a device file.")
                for script in SCHEMAS[version:]:
                    for statement in _statements(script):
                        self._db.execute(statement)
            self._version = self._external_version()
        except (OSError, sqlite3.Error) as error:
            raise DeviceError(f"cannot use the device file {file}: {error}.") from error
        self._charged = 0
        self._ledger = Ledger()

    def changed(self) -> bool:
        """Whether another process has written since the last call."""
        before, self._version = self._version, self._external_version()
        return self._version != before

    def _external_version(self) -> int:
        return int(self._db.execute("PRAGMA data_version").fetchone()[0])

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
        with self._durable_transaction():
            self._db.execute("INSERT OR REPLACE INTO identity VALUES (1, ?)", (document,))

    # Buffer

    @property
    def standing(self) -> Standing:
        """Asked of the file: another process may have used it."""
        return Standing(*self._db.execute(f"SELECT {STANDING}").fetchone())

    @property
    def n_samples(self) -> int:
        """n_s."""
        return self.standing.n_samples

    def add(
        self,
        x: Array,
        y: float,
        most: int,
        position: Position | None = None,
        durable: bool = False,
    ) -> Standing | None:
        """Keep a sample, unless there are so many already: another process may have added some.

        Where it came from is written in the same transaction: no crash makes a later run take it
        again. Of several samples that end at one line, a crash may lose those after the first.
        If it is to be durable, it is on disk when this returns.
        """
        row = (x.astype("<f8", copy=False).tobytes(), y, most)
        if position is None:
            return self._add(row)
        with self._durable_transaction() if durable else self._transaction():
            kept = self._add(row)
            if kept:
                place = (position.path, position.lines, position.sha256)
                self._db.execute("INSERT OR REPLACE INTO sources VALUES (?, ?, ?)", place)
        return kept

    def _add(self, row: tuple[bytes, float, int]) -> Standing | None:
        # Fetched to the end: that is when SQLite commits a statement outside a transaction.
        found = self._db.execute(ADD, row).fetchall()
        return Standing(*found[0]) if found else None

    def position(self, path: str) -> Position | None:
        """How far this file of samples was taken."""
        query = "SELECT path, lines, sha256 FROM sources WHERE path = ?"
        row = self._db.execute(query, (path,)).fetchone()
        return Position(*row) if row else None

    # Outbox and ledger

    def release(
        self, sanitize: Callable[[Array, Array, Ledger], tuple[Letter, CheckinEvent] | None]
    ) -> Letter | None:
        """Turn the whole buffer into one letter, in one transaction, unless `sanitize` declines.

        The write lock is held from reading the samples to storing the letter, so no other
        process can use a sample again or spend the same ε.
        """
        with self._durable_transaction():
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
        """What is in the file now. Nothing in it ever changes, so only what is new is read."""
        query = "SELECT seq, event FROM ledger WHERE seq > ? ORDER BY seq"
        rows = self._db.execute(query, (self._charged,)).fetchall()
        if rows:
            self._charged = rows[-1][0]
            self._ledger = Ledger((*self._ledger.events, *(_event(row[1]) for row in rows)))
        return self._ledger

    @property
    def answers(self) -> dict[str, str]:
        """What the server said to each check-in of the ledger, in order."""
        query = "SELECT checkin, answer FROM ledger LEFT JOIN answers USING (checkin) ORDER BY seq"
        return {checkin: answer or "waiting" for checkin, answer in self._db.execute(query)}

    @contextmanager
    def _durable_transaction(self) -> Iterator[None]:
        """When it ends it is on disk, with all that was written before it."""
        self._db.execute("PRAGMA synchronous = FULL")
        try:
            with self._transaction():
                yield
        finally:
            self._db.execute("PRAGMA synchronous = NORMAL")

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._db.execute("ROLLBACK")
            raise
        self._db.execute("COMMIT")


def _event(document: bytes) -> CheckinEvent:
    """An event, told by its fields."""
    told = msgspec.msgpack.decode(document)
    if "releases" in told:
        return msgspec.convert(told, NoiseEvent)
    return msgspec.convert(told, DirectionEvent)


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

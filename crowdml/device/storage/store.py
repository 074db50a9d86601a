"""Keep the device's memory: one SQLite file with buffer, outbox, ledger, token and terms.

Every method changes the file in one transaction. A killed process loses nothing. A power cut may
lose the samples since the last check-in and the server's last answer. A source that keeps its
samples then gives them again, and the server its answer. A power cut never loses a cost or an
agreement, because `release` and every change of the identity wait for the disk before anything is
sent. `add` waits for the disk only if `durable`: such a source cannot send the sample again.

Samples that were used are overwritten in the file, and the write-ahead log is emptied, before the
check-in is sent.
"""

import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np

from crowdml.device.identity import Identity
from crowdml.device.storage.account import Account
from crowdml.device.storage.database import PrivateDatabase
from crowdml.device.storage.position import Position, TakenBefore
from crowdml.device.storage.record import Record
from crowdml.device.storage.results import CheckinResults
from crowdml.device.storage.schema import SCHEMA
from crowdml.device.storage.streams import Streams
from crowdml.errors import DeviceError
from crowdml.privacy import CheckinEvent, Ledger
from crowdml.protocol import check_name, read_event
from crowdml.tables import check_kind
from crowdml.types import Array

N_SAMPLES = "coalesce((SELECT max(id) FROM buffer) - (SELECT min(id) FROM buffer) + 1, 0)"
"""Count samples by their ids, which have no gaps: the oldest samples are always taken first."""

ERASED = ("buffer", "current_label", "first_rows", "outbox", "results", "sources", "streams")
"""The tables that leaving empties: all but the ledger, its answers and the identity."""

SUMMARY = f"{N_SAMPLES}, EXISTS (SELECT 1 FROM outbox)"
ADD = f"""INSERT INTO buffer (x, y, followed) SELECT ?, ?, ? WHERE {N_SAMPLES} < ?
    RETURNING {SUMMARY}"""


@dataclass(frozen=True)
class WrittenCheckin:
    """Hold a sanitised check-in that waits to be sent, with the exact bytes of its body."""

    id: str
    body: bytes


class StoreSummary(NamedTuple):
    """Count the samples in the buffer, and show whether a check-in waits for its answer."""

    n_samples: int
    pending: bool


class DeviceStore:
    """Open a device's file, private to its owner, and the account of all devices in its folder."""

    def __init__(self, file: Path) -> None:
        check_kind("file", file, (str, Path), "a path")
        self.file = file = Path(file)
        self.account = Account(file.parent)
        self._db = PrivateDatabase(file, SCHEMA, "device file")
        self._record = Record(self._db, self.account)
        self.results = CheckinResults(self._db)
        self.streams = Streams(self._db)
        self._version = self._external_version()
        self._charged = 0
        self._ledger = Ledger()

    def changed(self) -> bool:
        """Return whether another process has written since the last call."""
        before, self._version = self._version, self._external_version()
        return self._version != before

    def _external_version(self) -> int:
        return int(self._db.execute("PRAGMA data_version").fetchone()[0])

    def close(self) -> None:
        self._db.close()
        self.account.close()

    def keep_ledger(self, identity: Identity) -> None:
        """Write this identity, and erase everything except the ledger and its answers."""
        with self._db.transaction(durable=True):
            for table in ERASED:
                self._db.execute(f"DELETE FROM {table}")
            self._write(identity)
        self._db.forget()
        with suppress(DeviceError):  # an account that cannot be used must not prevent leaving
            self.account.end_record(identity.record)

    def remove(self) -> None:
        """Remove the file; the account stays."""
        self._db.remove()
        self.account.close()

    # Identity

    def join(self, identity: Identity) -> None:
        """Store a new identity; the samples and the ledger of the file's earlier device stay."""
        before, pending = self.identity, self.pending_checkin
        self.account.begin_record(identity.record)
        with self._db.transaction(durable=True):
            self._db.execute("DELETE FROM results")
            if pending:
                self._answer(pending, "dropped: the device joined again")
            self._write(replace(identity, earlier=len(self.ledger.events)))
        if before:
            self.account.end_record(before.record)

    @property
    def identity(self) -> Identity | None:
        rows = self._db.rows("SELECT document FROM identity")
        return msgspec.msgpack.decode(rows[0][0], type=Identity) if rows else None

    @identity.setter
    def identity(self, identity: Identity) -> None:
        with self._db.transaction(durable=True):
            self._write(identity)

    @property
    def joined(self) -> Identity:
        """Return the identity; raise `DeviceError` if no task was joined."""
        if identity := self.identity:
            return identity
        raise DeviceError(f"{self.file} has not joined a task. Join one first.")

    def _write(self, identity: Identity) -> None:
        document = msgspec.msgpack.encode(identity)
        self._db.execute("INSERT OR REPLACE INTO identity VALUES (1, ?)", (document,))

    # Buffer

    @property
    def summary(self) -> StoreSummary:
        """Count the samples that are in the file now, which other processes may change."""
        return StoreSummary(*self._db.execute(f"SELECT {SUMMARY}").fetchone())

    @property
    def n_samples(self) -> int:
        """Count the samples in the buffer (n_s)."""
        return self.summary.n_samples

    def add(
        self, x: Array, y: float, most: int, position: Position | None = None, durable: bool = False
    ) -> StoreSummary | None:
        """Keep a sample, unless the buffer has `most` samples: other processes may add some.

        One transaction checks that its position was not taken before, and writes that it
        is taken now, so no two processes send one line. A crash in between may lose the sample,
        and never sends it twice. With `durable`, the sample is on disk when this returns.

        Raises:
            TakenBefore: Its position was taken; nothing was kept.
        """
        row = (x.astype("<f8", copy=False).tobytes(), y)
        if position is None:
            return self._add(*row, False, most)
        with self._db.transaction(durable):
            if self.summary.n_samples >= most:
                return None
            return self._add(*row, self._take(position), most)

    def _add(self, x: bytes, y: float, followed: bool, most: int) -> StoreSummary | None:
        found = self._db.rows(ADD, (x, y, followed, most))
        return StoreSummary(*found[0]) if found else None

    def discard(self, n: int) -> None:
        """Forget the newest n samples."""
        self._db.execute(
            "DELETE FROM buffer WHERE id IN (SELECT id FROM buffer ORDER BY id DESC LIMIT ?)", (n,)
        )

    def _take(self, position: Position) -> bool:
        """Remember the position; return whether the sample is known to be new."""
        if position.stream is None:
            row = (position.path, position.lines, position.sha256)
            self._db.execute("INSERT OR REPLACE INTO sources VALUES (?, ?, ?)", row)
        else:
            self.streams.write(position.path, position.stream)
        if position.mark is None:
            return False
        new = self.account.mark_taken(position.mark.mark)
        if not new and not position.mark.again:
            raise TakenBefore
        return new

    def position(self, path: str) -> Position | None:
        """Return the position up to which this file of samples was taken."""
        rows = self._db.rows("SELECT path, lines, sha256 FROM sources WHERE path = ?", (path,))
        return Position(*rows[0]) if rows else None

    # Outbox and ledger

    def release(
        self,
        n_samples: int,
        event: CheckinEvent,
        sanitize: Callable[[Array, Array, Ledger], WrittenCheckin | None],
    ) -> WrittenCheckin | None:
        """Turn the oldest samples into a check-in, in one transaction, unless `sanitize` declines.

        Args:
            n_samples: How many samples.
            event: What the check-in sends, as the ledger has approved it.
            sanitize: Makes the check-in from samples, targets and the ledger.

        The write lock is held from reading the samples to storing the check-in, so no other
        process can use a sample again or spend the same ε.
        """
        with self._db.transaction(durable=True):
            query = "SELECT id, x, y, followed FROM buffer ORDER BY id LIMIT ?"
            rows = self._db.rows(query, (n_samples,))
            x = np.array([np.frombuffer(row[1], dtype="<f8") for row in rows])
            y = np.array([row[2] for row in rows])
            checkin = sanitize(x, y, self.ledger)
            if checkin is None:
                return None
            self._db.execute("INSERT INTO outbox VALUES (?, ?)", (checkin.id, checkin.body))
            followed = all(row[3] for row in rows)
            self._record.charge(checkin.id, followed, msgspec.msgpack.encode(event))
            self._db.execute("DELETE FROM buffer WHERE id <= ?", (rows[-1][0],))
        self._db.forget()
        return checkin

    def claim(self, checkin: WrittenCheckin) -> bool:
        """Return whether a check-in may be sent: the account has it, on disk, under its number.

        The file has the check-in by now, so a crash in between only sends it later.
        """
        return self._record.claim(self.joined, checkin.id)

    def end_if_overtaken(self, why: str) -> bool:
        """End the device if a copy of its file has sent check-ins; return whether one has.

        The account has these check-ins, the file does not. They are charged in the transaction that
        ends the device.
        """
        if not self._record.is_ahead(self.joined):
            return False
        with self._db.transaction(durable=True):
            self._record.charge_unknown(self.joined)
            self._write(replace(self.joined, ended=why))
        return True

    def charge_copy(self, checkin: WrittenCheckin, answer: str, why: str) -> None:
        """Charge a check-in that a copy of the file sent under this number, and end the device."""
        self._record.claim_copy(self.joined, checkin.id)
        with self._db.transaction(durable=True):
            self._record.charge_unknown(self.joined)
            self._answer(checkin, answer)
            self._write(replace(self.joined, ended=why))

    @property
    def pending_checkin(self) -> WrittenCheckin | None:
        """Return the check-in that still has to be answered."""
        return next((WrittenCheckin(*row) for row in self._db.rows("SELECT * FROM outbox")), None)

    def store_answer(
        self, checkin: WrittenCheckin, answer: str, version: int | None = None
    ) -> None:
        """Store the server's answer to a check-in, which then never needs to be sent again."""
        with self._db.transaction():
            self._answer(checkin, answer)
            self.results.set_version(checkin.id, version)

    def _answer(self, checkin: WrittenCheckin, answer: str) -> None:
        self._db.execute("DELETE FROM outbox WHERE id = ?", (checkin.id,))
        self._db.execute("INSERT OR IGNORE INTO answers VALUES (?, ?)", (checkin.id, answer))

    @property
    def ledger(self) -> Ledger:
        """Return the ledger. Nothing in it ever changes, so only new entries are read."""
        query = "SELECT seq, event FROM ledger WHERE seq > ? ORDER BY seq"
        rows = self._db.rows(query, (self._charged,))
        if rows:
            # Read all events first: an event that cannot be read must not count as read.
            events = tuple(read_event(event) for _, event in rows)
            self._ledger, self._charged = Ledger((*self._ledger.events, *events)), rows[-1][0]
        return self._ledger

    @property
    def answers(self) -> dict[str, str]:
        """Return the server's answer to each check-in of the ledger, in order."""
        query = "SELECT checkin, answer FROM ledger LEFT JOIN answers USING (checkin) ORDER BY seq"
        return {checkin: answer or "waiting" for checkin, answer in self._db.rows(query)}


def default_file(task: str) -> Path:
    """Return where a device of this task is stored if no file is named."""
    base = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(base) / "crowdml" / f"{check_name(task)}.device"

"""Keep the participant's account: what all devices of one folder sent, and which samples they took.

The account survives leaving and joining again, so that a person's losses are added up over all
tasks. It holds no sample and no file name: lines that were taken are recognised by a hash with a
key that only the account has.

The account also has the record of each device: which check-in was sent under which number. A
device's file that was copied, or restored from a backup, has fewer check-ins than its record, and
sends nothing.
"""

import hmac
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import msgspec

from crowdml.device.storage.database import PrivateDatabase
from crowdml.privacy import CheckinEvent, Ledger, Loss
from crowdml.protocol import read_event

ACCOUNT_FILE = "participant.account"
SCHEMA = (
    "CREATE TABLE participant (one INTEGER PRIMARY KEY CHECK (one = 1), key BLOB NOT NULL) STRICT",
    """CREATE TABLE entries (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    checkin TEXT NOT NULL UNIQUE,
    server TEXT NOT NULL,
    task TEXT NOT NULL,
    followed INTEGER NOT NULL,
    event BLOB NOT NULL
) STRICT""",
    """CREATE TRIGGER entries_are_append_only_1 BEFORE UPDATE ON entries
    BEGIN SELECT RAISE(ABORT, 'the account is append-only'); END""",
    """CREATE TRIGGER entries_are_append_only_2 BEFORE DELETE ON entries
    BEGIN SELECT RAISE(ABORT, 'the account is append-only'); END""",
    "CREATE TABLE taken (mark BLOB PRIMARY KEY) STRICT, WITHOUT ROWID",
    """CREATE TABLE record (
    device TEXT NOT NULL, number INTEGER NOT NULL, checkin TEXT NOT NULL,
    PRIMARY KEY (device, number)
) STRICT, WITHOUT ROWID""",
    """CREATE TRIGGER record_is_append_only BEFORE UPDATE ON record
    BEGIN SELECT RAISE(ABORT, 'the record is append-only'); END""",
)
SEARCHED_LINES = 10_000
"""Lines without a sample after which the search in a file ends; marks still find repeated ones."""

ADD_ENTRY = "INSERT INTO entries (checkin, server, task, followed, event) VALUES (?, ?, ?, ?, ?)"
ADD_RECORD = "INSERT INTO record (device, number, checkin) VALUES (?, ?, ?)"


class AccountEntry(NamedTuple):
    """Describe one check-in of a task.

    Args:
        followed: Whether each of its samples is known to be in no other check-in of the task.
    """

    server: str
    task: str
    followed: bool
    event: CheckinEvent


@dataclass(frozen=True)
class AccountStatement:
    """Sum up what a person has lost over all tasks that the account knows."""

    entries: tuple[AccountEntry, ...]

    @property
    def tasks(self) -> dict[tuple[str, str], Ledger]:
        """Return what was sent to each task, by its server and name."""
        every = dict.fromkeys((entry.server, entry.task) for entry in self.entries)
        return {
            task: Ledger.of(
                entry.event for entry in self.entries if (entry.server, entry.task) == task
            )
            for task in every
        }

    @property
    def n_not_followed(self) -> int:
        return sum(not entry.followed for entry in self.entries)

    @property
    def epsilon_per_sample(self) -> float:
        """Return the ε of a sample that every task has used once."""
        return Loss.sum(_dearest(ledger) for ledger in self.tasks.values()).total

    @property
    def epsilon_per_sample_at_worst(self) -> float:
        """Return the ε of a sample that is also in each check-in that could not be followed."""
        losses = []
        for task in self.tasks:
            own = [entry for entry in self.entries if (entry.server, entry.task) == task]
            losses += [entry.event.loss for entry in own if not entry.followed]
            losses.append(_dearest(Ledger.of(entry.event for entry in own if entry.followed)))
        return Loss.sum(losses).total

    @property
    def epsilon_spent(self) -> float:
        """Return the total ε of all check-ins of all tasks."""
        return Loss.sum(entry.event.loss for entry in self.entries).total

    @property
    def epsilon_per_person(self) -> float:
        """Return the ε for replacing every sample that was ever used in any task."""
        return Loss.sum(entry.event.whole_loss for entry in self.entries).total


def _dearest(ledger: Ledger) -> Loss:
    return max((event.loss for event in ledger.events), key=lambda loss: loss.total, default=Loss())


class SampleMark(NamedTuple):
    """Identify a sample of a source by a mark that does not contain the sample.

    Args:
        mark: A hash of all lines up to its own, with the account's key.
        again: Whether it may be taken although it was taken before.
    """

    mark: bytes
    again: bool


class Account:
    """Open the account's file beside the files of the devices; the first entry creates it."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / ACCOUNT_FILE
        self._opened: PrivateDatabase | None = None

    @property
    def statement(self) -> AccountStatement:
        if not self.exists:
            return AccountStatement(())
        query = "SELECT server, task, followed, event FROM entries ORDER BY seq"
        rows = self._database.rows(query)
        return AccountStatement(
            tuple(AccountEntry(a, b, bool(c), read_event(d)) for a, b, c, d in rows)
        )

    @property
    def exists(self) -> bool:
        return self._opened is not None or self.file.exists()

    def add_entry(self, checkin: str, entry: AccountEntry) -> None:
        """Add a check-in, on disk when this returns."""
        with self._database.transaction(durable=True):
            self._add_entry(checkin, entry)

    def _add_entry(self, checkin: str, entry: AccountEntry) -> None:
        event = msgspec.msgpack.encode(entry.event)
        row = (checkin, entry.server, entry.task, entry.followed, event)
        self._database.execute(ADD_ENTRY, row)

    # The record of each device

    def begin_record(self, device: str) -> None:
        """Begin the record of a device that joins; without a record it sends nothing."""
        with self._database.transaction(durable=True):
            self._database.execute(ADD_RECORD, (device, 0, ""))

    def end_record(self, device: str) -> None:
        """Remove the record of a device that leaves: a copy of its file then sends nothing."""
        if self.exists:
            with self._database.transaction():
                self._database.execute("DELETE FROM record WHERE device = ?", (device,))

    def newest(self, device: str) -> int | None:
        """Return the number of the device's last recorded check-in; None without a record."""
        if not self.exists:
            return None
        query = "SELECT max(number) FROM record WHERE device = ?"
        number = self._database.execute(query, (device,)).fetchone()[0]
        return None if number is None else int(number)

    def claim_number(self, device: str, number: int, checkin: str, entry: AccountEntry) -> bool:
        """Book a check-in under its number, on disk, before it is sent.

        False if another check-in has this number: a copy of the device's file has sent it.
        """
        with self._database.transaction(durable=True):
            query = "SELECT checkin FROM record WHERE device = ? AND number = ?"
            known = self._database.execute(query, (device, number)).fetchone()
            if known is None:
                self._add_entry(checkin, entry)
                self._database.execute(ADD_RECORD, (device, number, checkin))
        return known is None or bool(known[0] == checkin)

    def recorded_after(self, device: str, number: int) -> list[tuple[str, bool, bytes]]:
        """Return check-ins with higher numbers, in order: id, whether it is followed, and event."""
        query = (
            "SELECT checkin, followed, event FROM record JOIN entries USING (checkin) "
            "WHERE device = ? AND number > ? ORDER BY number"
        )
        return self._database.rows(query, (device, number))

    def mark_taken(self, mark: bytes) -> bool:
        """Mark a sample as taken; return whether it was not taken before."""
        query = "INSERT INTO taken VALUES (?) ON CONFLICT DO NOTHING"
        with self._database.transaction():
            return self._database.execute(query, (mark,)).rowcount == 1

    def was_taken(self, mark: bytes) -> bool:
        query = "SELECT 1 FROM taken WHERE mark = ?"
        return self._database.execute(query, (mark,)).fetchone() is not None

    @cached_property
    def key(self) -> bytes:
        """Return the marks' random key; without it, not even a guessed sample is recognised."""
        with self._database.transaction():
            query = "INSERT INTO participant VALUES (1, ?) ON CONFLICT DO NOTHING"
            self._database.execute(query, (secrets.token_bytes(32),))
            key = self._database.execute("SELECT key FROM participant").fetchone()[0]
        return bytes(key)

    def close(self) -> None:
        if self._opened:
            self._opened.close()
            self._opened = None

    @property
    def _database(self) -> PrivateDatabase:
        if self._opened is None:
            self._opened = PrivateDatabase(self.file, SCHEMA, "participant's account")
        return self._opened


class Trail:
    """Find out which lines of files a task has taken, under any file name."""

    def __init__(self, account: Account, task: str, again: bool = False) -> None:
        self._account = account
        self._task = task
        self._again = again

    def mark(self, sha256: str, nth: int = 0) -> SampleMark:
        """Return the mark of the nth sample that ends where the file so far has this hash."""
        known_by = f"{self._task}\n{sha256}\n{nth}".encode()
        return SampleMark(hmac.digest(self._account.key, known_by, "sha256")[:16], self._again)

    def last(self, hashes: Iterator[str]) -> int:
        """Return the number of the last line, found by its hash, that has given a sample before."""
        if self._again or not self._account.exists:
            return 0
        newest = 0
        for n, sha256 in enumerate(hashes, 1):
            if self._account.was_taken(self.mark(sha256).mark):
                newest = n
            elif n - newest >= SEARCHED_LINES:
                break
        return newest

"""Store what live sources need in the device's file: unfinished windows, and the current label."""

from typing import NamedTuple

from crowdml.device.storage.database import PrivateDatabase

MOST_STREAMS = 20
"""Streams that are kept: after this many newer ones, a phone's session is no longer needed."""


class CurrentLabel(NamedTuple):
    """Hold the label that a person has set for current readings, and when, in nanoseconds."""

    label: str | None
    at: int


class Streams:
    """Read and write the three tables of live sources in the device's file.

    Nothing in them is ever sent, and leaving erases them.
    """

    def __init__(self, db: PrivateDatabase) -> None:
        self._db = db

    def read(self, path: str) -> bytes | None:
        row = self._db.execute("SELECT document FROM streams WHERE path = ?", (path,)).fetchone()
        return bytes(row[0]) if row else None

    def write(self, path: str, document: bytes) -> None:
        """Replace the memory of a stream; the caller may be in a transaction."""
        change = "UPDATE streams SET document = ? WHERE path = ?"
        if not self._db.execute(change, (document, path)).rowcount:
            old = "SELECT rowid FROM streams ORDER BY rowid DESC LIMIT -1 OFFSET ?"
            self._db.execute(f"DELETE FROM streams WHERE rowid IN ({old})", (MOST_STREAMS - 1,))
            self._db.execute("INSERT INTO streams VALUES (?, ?)", (path, document))

    def first_rows_checked(self, format: str) -> bool:
        """Return whether the first rows of this format were checked and found good."""
        query = "SELECT count(*) FROM first_rows WHERE format = ? AND row IS NULL"
        return bool(self._db.execute(query, (format,)).fetchone()[0])

    def first_rows(self, format: str) -> list[bytes]:
        """Return the rows of this format that wait to be checked."""
        query = "SELECT row FROM first_rows WHERE format = ? AND row NOT NULL ORDER BY rowid"
        return [bytes(row) for (row,) in self._db.rows(query, (format,))]

    def add_first_row(self, format: str, row: bytes) -> None:
        self._db.execute("INSERT INTO first_rows VALUES (?, ?)", (format, row))

    def end_check(self, format: str, good: bool) -> None:
        """Erase the rows of this format; a format with good rows is not checked again."""
        with self._db.transaction():
            self._db.execute("DELETE FROM first_rows WHERE format = ?", (format,))
            if good:
                self._db.execute("INSERT INTO first_rows VALUES (?, NULL)", (format,))

    @property
    def label(self) -> CurrentLabel | None:
        """Return the label that was set last; None if nobody has set or unset one."""
        row = self._db.execute("SELECT label, at FROM current_label").fetchone()
        return CurrentLabel(*row) if row else None

    @label.setter
    def label(self, label: CurrentLabel) -> None:
        with self._db.transaction():
            self._db.execute("INSERT OR REPLACE INTO current_label VALUES (1, ?, ?)", label)

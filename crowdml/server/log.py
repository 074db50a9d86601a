"""The log of one task: its check-ins in the order of application, and snapshots of their fold."""

import math
from collections.abc import Collection, Iterator, Sequence
from itertools import chain
from typing import NamedTuple, TypeAlias

import sqlalchemy as sa

from crowdml.server import schema
from crowdml.server.entry import LogEntry

__all__ = ["DeviceTotals", "Key", "Log"]

Key: TypeAlias = tuple[int, str]
"""What makes a check-in one: its device and its id."""


class DeviceTotals(NamedTuple):
    """What one device did; `newest` is the time of its newest check-in, to the minute."""

    checkins: int = 0
    samples: int = 0
    staleness_mean: float = 0.0
    newest: int | None = None


COLUMNS = [schema.checkins.c[name] for name in LogEntry._fields]
APPEND = (
    f"INSERT INTO checkins ({', '.join(LogEntry._fields)}) "
    f"VALUES ({', '.join('?' * len(LogEntry._fields))})"
)
SEEN = (
    "WITH wanted (device, id) AS (VALUES {}) "
    "SELECT device, id, seq FROM wanted JOIN checkins USING (device, id) WHERE task = ?"
)


class Log:
    """Every method is one transaction: when it returns, what it wrote is on disk."""

    def __init__(self, connection: sa.Connection, task: int) -> None:
        self._connection = connection
        self._task = task

    def __iter__(self) -> Iterator[LogEntry]:
        return self.after(0)

    def __len__(self) -> int:
        c = schema.checkins.c
        query = sa.select(sa.func.max(c.seq)).where(c.task == self._task)
        with self._connection.begin():
            return self._connection.execute(query).scalar() or 0

    def after(self, seq: int, page: int = 1000) -> Iterator[LogEntry]:
        """The entries that follow this one, in order."""
        c = schema.checkins.c
        while True:
            query = sa.select(*COLUMNS).where(c.task == self._task, c.seq > seq)
            with self._connection.begin():
                rows = self._connection.execute(query.order_by(c.seq).limit(page)).all()
            yield from (LogEntry(*row) for row in rows)
            if len(rows) < page:
                return
            seq = rows[-1].seq

    def append(self, entries: Sequence[LogEntry]) -> None:
        """Add check-ins, all or none; a device's id and a sequence number are there only once."""
        with self._connection.begin():
            # Rows as they are: SQLAlchemy's handling of values would cost more than SQLite.
            self._connection.exec_driver_sql(APPEND, list(entries))

    def seen(self, keys: Collection[Key]) -> dict[Key, int]:
        """The sequence numbers of those that are here already, in one query for all."""
        if not keys:
            return {}
        query = SEEN.format(", ".join(["(?, ?)"] * len(keys)))
        values = (*chain.from_iterable(keys), self._task)
        with self._connection.begin():
            rows = self._connection.exec_driver_sql(query, values)
            return {(device, name): seq for device, name, seq in rows}

    def by_device(self, first: int, last: int) -> dict[int, DeviceTotals]:
        """What the devices with these numbers did, those left out that did nothing."""
        c, f = schema.checkins.c, sa.func
        staleness = f.avg(c.seq - 1 - c.version)
        query = sa.select(c.device, f.count(), f.sum(c.samples), staleness, f.max(c.at))
        query = query.where(c.task == self._task, c.device.between(first, last))
        with self._connection.begin():
            rows = self._connection.execute(query.group_by(c.device))
            return {device: DeviceTotals(*totals) for device, *totals in rows}

    # Snapshots

    def save_snapshot(self, seq: int, fold: bytes) -> None:
        """Keep this snapshot and the one before it."""
        c = schema.snapshots.c
        previous = sa.select(sa.func.max(c.seq)).where(c.task == self._task, c.seq < seq)
        with self._connection.begin():
            keep = self._connection.execute(previous).scalar() or -math.inf
            old = sa.delete(schema.snapshots).where(c.task == self._task)
            self._connection.execute(old.where((c.seq < keep) | (c.seq >= seq)))
            row = {"task": self._task, "seq": seq, "fold": fold}
            self._connection.execute(sa.insert(schema.snapshots), row)

    def snapshot(self) -> tuple[int, bytes] | None:
        """The newest one, with the number of check-ins in it."""
        c = schema.snapshots.c
        query = sa.select(c.seq, c.fold).where(c.task == self._task)
        with self._connection.begin():
            row = self._connection.execute(query.order_by(c.seq.desc()).limit(1)).first()
        return (row[0], row[1]) if row else None

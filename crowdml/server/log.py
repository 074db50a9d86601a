"""The log of one task: its check-ins in the order of application, and snapshots of their fold."""

import math
from collections.abc import Collection, Iterator, Sequence
from itertools import chain
from typing import NamedTuple, TypeAlias

import sqlalchemy as sa

from crowdml.server import schema
from crowdml.server.entry import LogEntry

__all__ = ["DeviceTotals", "Key", "Log", "Mark", "marks_of"]

Key: TypeAlias = tuple[int, str, int | None]
"""A check-in's device, its id, and its number if it has one."""

Mark: TypeAlias = tuple[int, str | int]
"""A device with an id, or with a number: the log of a task has each of them once."""


class DeviceTotals(NamedTuple):
    """What one device did; `newest` is the time of its newest check-in, to the minute.

    `samples` is None where devices do not tell.
    """

    checkins: int = 0
    samples: int | None = 0
    staleness_mean: float = 0.0
    newest: int | None = None


STORED = LogEntry._fields[:-1]
COLUMNS = [*(schema.checkins.c[name] for name in STORED), schema.devices.c.name]
APPEND = f"INSERT INTO checkins ({', '.join(STORED)}) VALUES ({', '.join('?' * len(STORED))})"
SEEN = (
    "WITH wanted (device, id, number) AS (VALUES {}) "
    "SELECT log.device, log.id, log.number, log.seq FROM wanted JOIN checkins log "
    "ON log.device = wanted.device AND (log.id = wanted.id OR log.number = wanted.number) "
    "WHERE log.task = ?"
)


def marks_of(device: int, id: str, number: int | None) -> list[Mark]:
    return [(device, id)] if number is None else [(device, id), (device, number)]


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
        c, d = schema.checkins.c, schema.devices.c
        whose = sa.and_(d.task == c.task, d.number == c.device)
        log = schema.checkins.join(schema.devices, whose)
        while True:
            query = sa.select(*COLUMNS).select_from(log)
            query = query.where(c.task == self._task, c.seq > seq)
            with self._connection.begin():
                rows = self._connection.execute(query.order_by(c.seq).limit(page)).all()
            yield from (LogEntry(*row) for row in rows)
            if len(rows) < page:
                return
            seq = rows[-1].seq

    def append(self, entries: Sequence[LogEntry]) -> None:
        """Add check-ins, all or none: the database refuses an id or a number of a device that it
        has, and a sequence number."""
        with self._connection.begin():
            # Rows as they are: SQLAlchemy's handling of values would cost more than SQLite.
            self._connection.exec_driver_sql(APPEND, [entry[:-1] for entry in entries])

    def seen(self, keys: Collection[Key]) -> dict[Mark, int]:
        """The marks of all entries that have the id or the number of one of these, each with its
        sequence number; in one query for all."""
        if not keys:
            return {}
        query = SEEN.format(", ".join(["(?, ?, ?)"] * len(keys)))
        values = (*chain.from_iterable(keys), self._task)
        found: dict[Mark, int] = {}
        with self._connection.begin():
            for *key, seq in self._connection.exec_driver_sql(query, values):
                found |= dict.fromkeys(marks_of(*key), seq)
        return found

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

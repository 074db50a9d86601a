"""Store the log of one task: its check-ins in the order of application, and snapshots."""

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from typing import Any, NamedTuple, TypeAlias

import sqlalchemy as sa

from crowdml.phrase import Phrase
from crowdml.protocol import Task
from crowdml.server.database import schema
from crowdml.server.database.connection import Database
from crowdml.server.database.joins import JoinRow, Joins
from crowdml.server.database.log_entry import LogEntry
from crowdml.server.database.owner_settings import OwnerSettings
from crowdml.server.database.owners import log_action

DEVICE_ORDERS = ("joined", "newest", "most")
"""Orders of devices: as they joined, by newest check-in, by number of check-ins."""

Key: TypeAlias = tuple[int, str, int | None]
"""A check-in's device, its id, and its number if it has one."""

CheckinMark: TypeAlias = tuple[int, str | int]
"""A device with an id, or with a number: the log of a task has each of them once."""


class DeviceTotals(NamedTuple):
    """Hold what one device did; `newest` is the time of its newest check-in, to the minute.

    `samples` is None where devices do not send it.
    """

    checkins: int = 0
    samples: int | None = 0
    staleness_mean: float = 0.0
    newest: int | None = None


DROPPED_PAYLOAD = b""
"""Replaces a payload in the log once snapshots cover it."""

ENTRIES_QUERY = (
    "SELECT log.task, log.seq, log.device, log.id, log.at, log.version, log.number, log.samples, "
    "COALESCE(payloads.payload, {0}), devices.name FROM checkins log "
    "JOIN devices ON devices.task = log.task AND devices.number = log.device "
    "LEFT JOIN payloads ON payloads.task = log.task AND payloads.seq = log.seq "
    "WHERE log.task = {0} AND log.seq > {0} ORDER BY log.seq LIMIT {0}"
)
"""Read the entries after one entry; plain text, because building the query would take longer."""

WANTED_ROW = "(CAST({0} AS INTEGER), CAST({0} AS TEXT), CAST({0} AS INTEGER))"
SEEN_QUERY = (
    "WITH wanted (device, id, number) AS (VALUES {}) "
    "SELECT log.device, log.id, log.number, log.seq FROM wanted JOIN checkins log "
    "ON log.task = {task} AND log.device = wanted.device AND log.id = wanted.id UNION "
    "SELECT log.device, log.id, log.number, log.seq FROM wanted JOIN checkins log "
    "ON log.task = {task} AND log.device = wanted.device AND log.number = wanted.number"
)
"""Find entries by id or by number, in two halves, because each half has its own index."""


def marks_of(device: int, id: str, number: int | None) -> list[CheckinMark]:
    return [(device, id)] if number is None else [(device, id), (device, number)]


class Log:
    """Read and write the log. When a method returns, its transaction is on disk."""

    def __init__(self, database: Database, task: int) -> None:
        self._database = database
        self._task = task

    def __iter__(self) -> Iterator[LogEntry]:
        return chain.from_iterable(self.after(0))

    def __len__(self) -> int:
        c = schema.checkins.c
        query = sa.select(sa.func.max(c.seq)).where(c.task == self._task)
        with self._database.reading() as connection:
            return connection.execute(query).scalar() or 0

    def after(self, seq: int, page: int = 1000) -> Iterator[list[LogEntry]]:
        """Read the entries that follow entry `seq`, in order, a page at a time."""
        query = ENTRIES_QUERY.format(self._database.placeholder)
        with self._database.reading() as connection:
            rows = connection.exec_driver_sql(query, (DROPPED_PAYLOAD, self._task, seq, page)).all()
        yield from self._pages(rows, page)

    def _pages(self, rows: Sequence[Sequence[Any]], page: int) -> Iterator[list[LogEntry]]:
        """Read this page and the pages that follow it."""
        entries = [LogEntry(*row) for row in rows]
        if entries:
            yield entries
        if len(entries) == page:
            yield from self.after(entries[-1].seq, page)

    @contextmanager
    def appending(
        self, seq: int, page: int = 1000
    ) -> Iterator[tuple[OwnerSettings, Iterator[list[LogEntry]]]]:
        """Open a transaction in which no other process can append.

        It returns the owner's settings of the task, and the entries that follow entry `seq`.
        """
        query = ENTRIES_QUERY.format(self._database.placeholder)
        with self._database.writing():
            owner_settings, rows = self._database.query_locked(
                self._task, query, (DROPPED_PAYLOAD, self._task, seq, page)
            )
            yield owner_settings, self._pages(rows, page)

    def append(self, entries: Sequence[LogEntry]) -> None:
        """Append check-ins, all or none.

        The database rejects an id, a device's number or a sequence number that it has already.
        """
        if not entries:
            return
        rows: dict[sa.Table, list[tuple[Any, ...]]] = {
            schema.checkins: [entry[:-2] for entry in entries],
            schema.payloads: [(entry.task, entry.seq, entry.payload) for entry in entries],
        }
        with self._database.writing():
            self._database.append(self._task, rows)

    def cut(self, seq: int) -> None:
        """Delete the entries after entry `seq`, in the transaction that appended them."""
        with self._database.writing() as connection:
            for table in (schema.payloads, schema.checkins):
                gone = sa.delete(table).where(table.c.task == self._task, table.c.seq > seq)
                connection.execute(gone)

    def task(self) -> Task:
        """Return the task of this log, as its owner last edited it."""
        c = schema.tasks.c
        query = sa.select(c.document).where(c.id == self._task)
        with self._database.reading() as connection:
            document = connection.execute(query).scalar_one()
        return Task.from_json(document)

    def reopen(self, seq: int, by: str) -> None:
        """Record that the owner reopened the task after this check-in."""
        c = schema.tasks.c
        with self._database.writing() as connection:
            row = connection.execute(sa.select(c.name, c.reopened).where(c.id == self._task)).one()
            reopened = f"{row.reopened} {seq}".strip()
            change = sa.update(schema.tasks).where(c.id == self._task).values(reopened=reopened)
            connection.execute(change)
            log_action(
                connection, by, Phrase("reopened"), row.name, Phrase("after check-in {n}", n=seq)
            )
            self._database.notify()

    def newest(self, seq: int, most: int) -> list[tuple[int, int]]:
        """Return device and time of the last `most` check-ins up to `seq`, the oldest first."""
        c = schema.checkins.c
        query = sa.select(c.device, c.at).where(c.task == self._task, c.seq <= seq)
        with self._database.reading() as connection:
            rows = connection.execute(query.order_by(c.seq.desc()).limit(most)).all()
        return [(device, at) for device, at in reversed(rows)]

    def joins(self, device: int) -> list[JoinRow]:
        """List the joins within a day of devices with higher numbers, in their order."""
        return Joins(self._database).after(self._task, device)

    def removed(self, devices: Collection[int]) -> dict[int, str]:
        """Return which of these devices left or were revoked, with their status."""
        c = schema.devices.c
        query = sa.select(c.number, c.status).where(
            c.task == self._task, c.number.in_(devices), c.status != "active"
        )
        with self._database.reading() as connection:
            return {row.number: row.status for row in connection.execute(query)}

    def numbers(self, seq: int) -> list[tuple[int, int, int]]:
        """List each device with numbered check-ins up to `seq`: device, highest number, count."""
        c, f = schema.checkins.c, sa.func
        query = sa.select(c.device, f.max(c.number), f.count(c.number))
        query = query.where(c.task == self._task, c.seq <= seq, c.number.is_not(None))
        with self._database.reading() as connection:
            return [tuple(row) for row in connection.execute(query.group_by(c.device))]

    def seen(self, keys: Collection[Key]) -> dict[CheckinMark, int]:
        """Find all entries that have the id or the number of one of these marks, in one query.

        Each result is a mark with its sequence number.
        """
        if not keys:
            return {}
        wanted = WANTED_ROW.format(self._database.placeholder)
        query = SEEN_QUERY.format(", ".join([wanted] * len(keys)), task=self._task)
        values = tuple(chain.from_iterable(keys))
        found: dict[CheckinMark, int] = {}
        with self._database.reading() as connection:
            for *key, seq in connection.exec_driver_sql(query, values):
                found |= dict.fromkeys(marks_of(*key), seq)
        return found

    def by_device(self, numbers: Collection[int]) -> dict[int, DeviceTotals]:
        """Return what the devices with these numbers did; devices that did nothing are left out."""
        c, f = schema.checkins.c, sa.func
        staleness = f.avg(sa.cast(c.seq - 1 - c.version, sa.Double))
        query = sa.select(c.device, f.count(), f.sum(c.samples), staleness, f.max(c.at))
        query = query.where(c.task == self._task, c.device.in_(numbers))
        with self._database.reading() as connection:
            rows = connection.execute(query.group_by(c.device))
            return {device: DeviceTotals(*totals) for device, *totals in rows}

    def count_devices(self, part: str, status: str) -> int:
        """Count the devices with this part in their names, and with this status if one is given."""
        query = sa.select(sa.func.count()).where(self._which(part, status))
        with self._database.reading() as connection:
            return int(connection.execute(query).scalar_one())

    def devices(
        self, part: str, status: str, order: str, first: int, most: int
    ) -> list[tuple[int, str, str]]:
        """Return the numbers, names and statuses of some devices, in one of `DEVICE_ORDERS`."""
        d, c = schema.devices.c, schema.checkins.c
        query = sa.select(d.number, d.name, d.status).where(self._which(part, status))
        if order != DEVICE_ORDERS[0]:
            key = sa.func.max(c.at) if order == "newest" else sa.func.count()
            done = sa.select(c.device, key.label("key")).where(c.task == self._task)
            totals = done.group_by(c.device).subquery()
            query = query.outerjoin(totals, totals.c.device == d.number)
            query = query.order_by(sa.func.coalesce(totals.c.key, -1).desc())
        with self._database.reading() as connection:
            rows = connection.execute(query.order_by(d.number).offset(first).limit(most))
            return [(number, name, status) for number, name, status in rows]

    def _which(self, part: str, status: str) -> "sa.ColumnElement[bool]":
        d = schema.devices.c
        wanted = (d.task == self._task) & d.name.contains(part, autoescape=True)
        return wanted & (d.status == status) if status else wanted

    # Snapshots

    def save_snapshot(self, seq: int, fold: bytes, keep_payloads: bool = True) -> None:
        """Store this snapshot of `seq` check-ins, and keep the one before it.

        Unless `keep_payloads`, the payloads of check-ins that both snapshots cover are deleted.
        """
        c = schema.snapshots.c
        earlier = sa.select(sa.func.max(c.seq)).where(c.task == self._task, c.seq < seq)
        with self._database.writing() as connection:
            covered = connection.execute(earlier).scalar() or 0
            old = sa.delete(schema.snapshots).where(c.task == self._task)
            connection.execute(old.where((c.seq < covered) | (c.seq >= seq)))
            row = {"task": self._task, "seq": seq, "fold": fold}
            connection.execute(sa.insert(schema.snapshots), row)
            if not keep_payloads:
                t = schema.payloads.c
                gone = sa.delete(schema.payloads).where(t.task == self._task, t.seq <= covered)
                connection.execute(gone)

    def snapshots(self) -> list[tuple[int, bytes]]:
        """List the stored snapshots, the newest first, each with its number of check-ins."""
        c = schema.snapshots.c
        query = sa.select(c.seq, c.fold).where(c.task == self._task).order_by(c.seq.desc())
        with self._database.reading() as connection:
            return [(seq, fold) for seq, fold in connection.execute(query)]

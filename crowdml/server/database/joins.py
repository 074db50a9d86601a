"""Store for a day from which networks devices joined: as keyed hashes, never as addresses."""

import hashlib
import secrets
import time
from typing import NamedTuple

import sqlalchemy as sa

from crowdml.server.database import schema
from crowdml.server.database.connection import Database
from crowdml.server.database.log_entry import this_minute

DAY = 24 * 3600
MAKE_KEY = sa.text("INSERT INTO network_keys (day, key) VALUES (:day, :key) ON CONFLICT DO NOTHING")


class JoinRow(NamedTuple):
    """Hold a device that joined within a day.

    Args:
        network: A hash of its network, with a key that is deleted after a day or two.
        at: The minute in which it joined, in seconds since 1970.
    """

    device: int
    network: int
    at: int


class Joins:
    """Store the newest joins to all tasks. Every method is one transaction."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def note(self, task: int, device: int, visitor: str) -> None:
        """Store for a day that a device joined from the network of a visitor."""
        with self._database.writing() as connection:
            key, at = self._key(connection), this_minute()
            digest = hashlib.blake2b(visitor.encode(), digest_size=8, key=key).digest()
            network = int.from_bytes(digest, "big", signed=True)
            row = {"task": task, "device": device, "network": network, "at": at}
            connection.execute(sa.insert(schema.joins), row)

    def _key(self, connection: sa.Connection) -> bytes:
        """Return today's key; the first caller of the day makes it."""
        values = {"day": int(time.time()) // DAY, "key": secrets.token_bytes(32)}
        connection.execute(MAKE_KEY, values)
        c = schema.network_keys.c
        key: bytes = connection.execute(sa.select(c.key).where(c.day == values["day"])).scalar_one()
        return key

    def after(self, task: int, device: int) -> list[JoinRow]:
        """List the joins of devices with higher numbers, in their order."""
        c = schema.joins.c
        query = sa.select(c.device, c.network, c.at).where(c.task == task, c.device > device)
        with self._database.reading() as connection:
            return [JoinRow(*row) for row in connection.execute(query.order_by(c.device))]

    def newest(self, task: int, most: int) -> list[JoinRow]:
        """List the newest joins, at most `most`."""
        c = schema.joins.c
        query = sa.select(c.device, c.network, c.at).where(c.task == task)
        query = query.where(c.at > int(time.time()) - DAY).order_by(c.device.desc()).limit(most)
        with self._database.reading() as connection:
            return [JoinRow(*row) for row in connection.execute(query)]

    def forget(self) -> None:
        """Delete rows that are older than a day, and keys that no row needs."""
        now = int(time.time())
        with self._database.writing() as connection:
            connection.execute(sa.delete(schema.joins).where(schema.joins.c.at < now - DAY))
            old = schema.network_keys.c.day < now // DAY - 1
            connection.execute(sa.delete(schema.network_keys).where(old))

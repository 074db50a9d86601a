"""Store one row for each node that shares the database, in which others read its counts."""

from typing import NamedTuple

import msgspec
import sqlalchemy as sa

from crowdml.server.database import schema
from crowdml.server.database.connection import Database

NODE_ROW_SECONDS = 60
"""Seconds for which the row of a node that ended stays: long enough for a last scrape."""


class MetricValue(NamedTuple):
    """Hold one number: the metric's family, the end of its name, its labels and its value."""

    family: str
    ending: str
    labels: dict[str, str]
    value: int | float


METRIC_VALUES = msgspec.json.Decoder(list[MetricValue])


class NodeRow(NamedTuple):
    """Hold a node's row; `seen` is in seconds since 1970 and `age` in seconds.

    Both use the database's clock, which is the same for all nodes.
    """

    name: str
    started: int
    seen: int
    age: int
    values: list[MetricValue]


class Nodes:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._write = sa.text(
            f"INSERT INTO nodes VALUES (:name, :started, {database.now_sql}, :metrics) "
            "ON CONFLICT (name) DO UPDATE SET seen = excluded.seen, metrics = excluded.metrics"
        )
        self._drop = sa.text(
            f"DELETE FROM nodes WHERE seen < {database.now_sql} - {NODE_ROW_SECONDS}"
        )

    def write(self, name: str, started: int, values: list[MetricValue]) -> None:
        """Write this node's row; success shows that the database can be written."""
        metrics = msgspec.json.encode(values).decode()
        row = {"name": name, "started": started, "metrics": metrics}
        with self._database.writing() as connection:
            connection.execute(self._write, row)
        # In its own transaction: two nodes that delete each other's rows would block each other.
        with self._database.writing() as connection:
            connection.execute(self._drop)

    def rows(self) -> list[NodeRow]:
        c = schema.nodes.c
        since = sa.literal_column(self._database.now_sql, sa.BigInteger) - c.seen
        query = sa.select(c.name, c.started, c.seen, since, c.metrics).order_by(c.name)
        with self._database.reading() as connection:
            found = connection.execute(query).all()
        return [
            NodeRow(name, started, seen, age, METRIC_VALUES.decode(text))
            for name, started, seen, age, text in found
        ]

"""Define every setting of an operator in one frozen class."""

import math
from dataclasses import dataclass, field, fields
from pathlib import Path

from crowdml.errors import InvalidInput
from crowdml.tables import check_kind

MAY_BE_0 = ("most_listeners", "most_export_bytes")
"""Settings that 0 turns off; any other number is above 0."""


@dataclass(frozen=True)
class Settings:
    """Hold the settings of a server.

    Args:
        database: The URL of the database.
        snapshot_every: The number of check-ins between two snapshots of a task; a restart replays
            at most this many.
        keep_payloads: Keep the payloads of check-ins for good, so that anyone can recompute the
            model from the log; otherwise keep them until two snapshots cover them.
        poll_seconds: How soon changes by another process, such as `crowdml task pause`, are
            noticed.
        events_seconds: The least time between two server-sent events to a listener.
        largest_batch: The most check-ins that share one commit.
        most_waiting_bytes: The most bytes of request bodies in memory at once; one address may
            use a quarter of them.
        most_checkins_per_device: The most check-ins of one device that may arrive at once.
        most_bodies_per_address: The most bodies that may arrive from one address at once.
        most_export_bytes: The memory for exported models, so that each is built once.
        most_listeners: The most event streams open at once; further listeners are asked to poll
            the statistics.
        most_connections: The most connections open at once; further connections wait.
        most_connections_per_address: The most connections open at once from one address that is
            not a trusted proxy, and at most half of all; the newest beyond are closed.
        head_seconds: How long a connection may be open before the head of its first or next
            request has arrived.
        body_seconds: How long the first 64 KiB of a request's body may take.
        body_bytes_per_second: How fast the rest of a larger body must arrive.
        stop_seconds: How long the server waits for open requests when it stops.
        joins_per_minute: How many devices may join from one address per minute, after
            `joins_at_once`; ten times as many may join one task.
        joins_at_once: How many devices may join from one address at once, such as a class.
        heartbeat_seconds: How often a node writes its counts for the other nodes.
        metrics_token: The token that may read the metrics; None lets this machine read them.
        log_format: `text`, or `json` for one object a line.
    """

    database: str = "sqlite:///crowdml.db"
    snapshot_every: int = 1000
    keep_payloads: bool = False
    poll_seconds: float = 0.5
    events_seconds: float = 1.0
    largest_batch: int = 256
    most_waiting_bytes: int = 2**28
    most_checkins_per_device: int = 2
    most_bodies_per_address: int = 64
    most_export_bytes: int = 2**26
    most_listeners: int = 256
    most_connections: int = 4096
    most_connections_per_address: int = 512
    head_seconds: float = 10.0
    body_seconds: float = 5.0
    body_bytes_per_second: int = 100_000
    stop_seconds: float = 8.0
    joins_per_minute: float = 60.0
    joins_at_once: int = 200
    heartbeat_seconds: float = 5.0
    metrics_token: str | None = field(default=None, repr=False)
    log_format: str = "text"

    def __post_init__(self) -> None:
        check_kind("database", self.database, str, "a URL such as sqlite:///crowdml.db")
        for each in fields(self):
            value = getattr(self, each.name)
            if each.type is int:
                check_kind(each.name, value, int, "a whole number")
            if each.type in (int, float):
                check_kind(each.name, value, (int, float), "a number")
                if not 0 <= value < math.inf or not (value or each.name in MAY_BE_0):
                    raise InvalidInput(f"{each.name} must be finite and above 0, found {value}.")
        if self.log_format not in ("text", "json"):
            raise InvalidInput(f"log_format must be text or json, found {self.log_format!r}.")
        if self.metrics_token == "":
            raise InvalidInput("metrics_token must not be empty. Leave it out, or make one up.")

    @property
    def folder(self) -> Path:
        """Return the folder of the certificate: the database file's, or the current one."""
        if not self.database.startswith("sqlite:///"):
            return Path()
        return Path(self.database.removeprefix("sqlite:///") or ".").parent

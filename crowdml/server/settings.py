"""Everything that an operator can set, in one frozen place."""

from dataclasses import dataclass, field
from pathlib import Path

from crowdml.errors import InvalidInput


@dataclass(frozen=True)
class Settings:
    """How the server runs.

    Args:
        database: Where everything is kept.
        snapshot_every: Check-ins between two snapshots of a task; a restart replays at most
            this many.
        keep_payloads: Always keep the payloads of check-ins, so that anyone can recompute the
            model from the log; otherwise until two snapshots cover them.
        poll_seconds: How soon changes by another process, such as `crowdml task pause`, are
            noticed.
        events_seconds: The least time between two server-sent events to a listener.
        largest_batch: Check-ins that share one commit at most.
        most_waiting_bytes: Bodies of requests that are in memory at once, in bytes at most; an
            address may have a quarter of it.
        most_checkins_per_device: Check-ins of one device that may arrive at once.
        most_bodies_per_address: Bodies that may arrive from one address at once.
        most_export_bytes: Exported models that are kept in memory, so that each is made once.
        most_listeners: Event streams open at once; more are told to ask for the statistics.
        most_connections: Connections open at once; more have to wait.
        most_connections_per_address: Connections open at once from one address that is no trusted
            proxy, and at most half of all; the newest ones beyond are closed.
        head_seconds: How long a connection may be open before the head of a request is there, the
            first or the next.
        body_seconds: How long the body of a request may take, up to 64 KiB of it.
        body_bytes_per_second: How fast the rest of a larger body must come.
        stop_seconds: How long the server waits for open requests when it is told to end.
        joins_per_minute: Devices that may join from one address, once it has used up what it may at
            once; ten times as many may join one task.
        joins_at_once: A class or an office behind one address.
        heartbeat_seconds: How often a node tells the others that it lives, and what it counts.
        metrics_token: Who sends it may read the metrics; None lets this machine read them.
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
        if self.log_format not in ("text", "json"):
            raise InvalidInput(f"log_format must be text or json, found {self.log_format!r}.")
        if self.metrics_token == "":
            raise InvalidInput("metrics_token must not be empty. Leave it out, or make one up.")

    @property
    def folder(self) -> Path:
        """Where the certificate is kept: beside a database file, or here."""
        if not self.database.startswith("sqlite:///"):
            return Path()
        return Path(self.database.removeprefix("sqlite:///") or ".").parent

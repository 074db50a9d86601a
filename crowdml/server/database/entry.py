"""One line of the log: all that the fold reads."""

import time
from typing import NamedTuple


class LogEntry(NamedTuple):
    """A check-in as it was applied, in the order of its columns.

    Args:
        seq: The version that it made.
        device: The device's number.
        id: The check-in's own.
        at: The time of its arrival in seconds since 1970, rounded down to the minute.
        version: That of the parameters it was computed on.
        number: That among the device's check-ins, where the mechanism counts them.
        samples: How many are behind it, where the mechanism tells.
        told: What the mechanism told, as MessagePack; nothing once snapshots cover it.
        name: The device's, which stands in the table of devices.
    """

    task: int
    seq: int
    device: int
    id: str
    at: int
    version: int
    number: int | None
    samples: int | None
    payload: bytes
    name: str

    @property
    def staleness(self) -> int:
        """How many steps the model took between check-out and check-in."""
        return self.seq - 1 - self.version


def this_minute(now: float | None = None) -> int:
    """Now, as exactly as the log may know it."""
    return int(time.time() if now is None else now) // 60 * 60

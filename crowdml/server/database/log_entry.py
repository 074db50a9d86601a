"""Define one entry of the log: everything that the fold reads."""

import time
from typing import NamedTuple


class LogEntry(NamedTuple):
    """Hold a check-in that was applied; the fields are in the order of the columns.

    Args:
        seq: The version that the check-in made.
        device: The device's number.
        id: The id of the check-in.
        at: The time of its arrival in seconds since 1970, rounded down to the minute.
        version: The version of the parameters that it was computed on.
        number: Its number among the device's check-ins, where the mechanism counts them.
        samples: The number of samples behind it, where the mechanism sends that.
        payload: The payload as MessagePack; empty once snapshots cover it.
        name: The device's name, from the table of devices.
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
        """Return how many steps the model took between check-out and check-in."""
        return self.seq - 1 - self.version


def this_minute(now: float | None = None) -> int:
    """Return the current minute: with a finer time, the log would show when people check in."""
    return int(time.time() if now is None else now) // 60 * 60

"""One line of the log: all that the fold reads."""

import time
from typing import NamedTuple

__all__ = ["LogEntry", "this_minute"]


class LogEntry(NamedTuple):
    """A check-in as it was applied, in the order of its columns.

    `at` is the time of its arrival in seconds since 1970, rounded down to the minute.
    """

    task: int
    seq: int
    device: int
    id: str
    at: int
    version: int
    samples: int
    heldout: int
    errors: int
    labels: str
    grid: int
    gradient: bytes

    @property
    def evaluated(self) -> int:
        """How many samples are behind the error count."""
        return self.heldout or self.samples

    @property
    def staleness(self) -> int:
        """How many steps the model took between check-out and check-in."""
        return self.seq - 1 - self.version


def this_minute() -> int:
    """Now, as exactly as the log may know it."""
    return int(time.time()) // 60 * 60

"""Name the outcomes of adding a sample, or of an attempt to check in."""

from enum import StrEnum


class Outcome(StrEnum):
    """Name the outcome of adding a sample, or of an attempt to check in.

    The sample was kept, except after `FULL`, `TAKEN` and `ENDED`.
    """

    COLLECTED = "collected"
    CHECKED_IN = "checked in"
    WAITING = "waiting to retry"
    PAUSED = "task paused"
    LIMIT = "privacy limit reached"
    TERMS = "terms changed"
    FULL = "buffer full"
    TAKEN = "taken before"
    ENDED = "ended"

"""When to try again: exponential backoff with jitter."""

import random
import time
from collections.abc import Callable

__all__ = ["Backoff"]


class Backoff:
    """After k failures wait base·2^k seconds, at most `longest`, times a random ½ … 1½.

    >>> now = [0.0]
    >>> backoff = Backoff(base=1.0, longest=60.0, clock=lambda: now[0])
    >>> backoff.due
    True
    >>> backoff.failed()
    >>> backoff.due, 0.5 <= backoff.wait <= 1.5
    (False, True)
    """

    def __init__(
        self,
        base: float = 1.0,
        longest: float = 300.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._base = base
        self._longest = longest
        self._clock = clock
        self._failures = 0
        self._not_before = clock()

    @property
    def due(self) -> bool:
        return self.wait <= 0

    @property
    def wait(self) -> float:
        """Seconds until the next try."""
        return self._not_before - self._clock()

    def failed(self, at_least: float = 0.0) -> None:
        delay = min(self._longest, self._base * 2.0 ** min(self._failures, 30))
        # Spreading retries over devices needs no secrecy, so a plain generator will do.
        delay *= random.uniform(0.5, 1.5)
        self._failures += 1
        self._not_before = self._clock() + max(delay, at_least)

    def succeeded(self) -> None:
        self._failures = 0
        self._not_before = self._clock()

    def postpone(self, seconds: float) -> None:
        """Wait on purpose, say to hide the moment at which a minibatch became full."""
        self._not_before = max(self._not_before, self._clock() + seconds)

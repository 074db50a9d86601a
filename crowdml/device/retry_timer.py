"""Decide when the next attempt may be made, and store the reason to wait."""

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np

from crowdml.device.outcome import Outcome
from crowdml.errors import InvalidInput
from crowdml.privacy import RandomIndex, SystemChance
from crowdml.tables import check_kind

SLOT = 0.05
"""Seconds: a check-in is sent `Terms.slots` of these after its check-out."""

RANDOM_STEPS = 1_000_000


class RetryTimer:
    """Wait base·2^k seconds after k failures, at most `longest`, times a random ½ … 1½.

    Args:
        base: Seconds after the first failure.
        longest: The most seconds, before the random factor.
        jitter: The most random seconds between the moment a minibatch is full and its check-in,
            so that the time of a check-in does not show when samples were taken.
        slot: The seconds of a slot. A check-in is sent `Terms.slots` of them after its check-out,
            so that the time that random draws and samples took does not show.
        clock: Seconds that never go back.

    >>> now = [0.0]
    >>> retry_timer = RetryTimer(clock=lambda: now[0])
    >>> retry_timer.is_due
    True
    >>> retry_timer.wait_after_failure(Outcome.PAUSED)
    <Outcome.PAUSED: 'task paused'>
    >>> retry_timer.is_due, retry_timer.reason, 0.5 <= retry_timer.seconds <= 1.5
    (False, <Outcome.PAUSED: 'task paused'>, True)
    """

    def __init__(
        self,
        base: float = 1.0,
        longest: float = 300.0,
        jitter: float = 0.0,
        slot: float = SLOT,
        clock: Callable[[], float] = time.monotonic,
        chance: RandomIndex | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        for name, value in (("base", base), ("longest", longest), ("jitter", jitter)):
            if not math.isfinite(check_seconds(name, value)):
                raise InvalidInput(f"{name} must be a finite number of seconds, found {value}.")
        self._base = base
        self._longest = longest
        self._jitter = jitter
        self._slot = slot
        self._clock = clock
        self._sleep = sleep
        self._chance = chance or SystemChance()
        self._batch_is_known = False
        self.clear()

    @property
    def is_due(self) -> bool:
        """Return whether an attempt may be made now."""
        return self.seconds <= 0

    @property
    def seconds(self) -> float:
        """Return the seconds until the next attempt."""
        return max(0.0, self._not_before - self._clock())

    @property
    def reason(self) -> Outcome:
        """Return the reason to wait."""
        return self._reason

    def wait_after_failure(self, reason: Outcome, at_least: float = 0.0) -> Outcome:
        """Wait after a failed attempt, and remember the reason."""
        delay = min(self._longest, self._base * 2.0 ** min(self._failures, 30))
        self._failures += 1
        self._not_before = self._clock() + max(delay * (0.5 + self._random()), at_least)
        self._reason = reason
        return reason

    def batch_filled(self) -> None:
        """Start the jitter when a minibatch is full, unless it runs since the last attempt."""
        if self._jitter and not self._batch_is_known:
            self._not_before = max(self._not_before, self._clock() + self._random() * self._jitter)
        self._batch_is_known = True

    @contextmanager
    def whole_slots(self, slots: int = 1) -> Iterator[None]:
        """Sleep at the end of the block, so that the block takes exactly this many slots.

        A block that takes longer is extended to the next whole multiple of them.
        """
        started, seconds = self._clock(), slots * self._slot
        yield
        if seconds:
            self._sleep(seconds - (self._clock() - started) % seconds)

    def clear(self) -> None:
        """Stop waiting: an attempt has succeeded, or the reason of its failure is gone."""
        self._failures = 0
        self._not_before = self._clock()
        self._reason = Outcome.WAITING
        self._batch_is_known = False

    def _random(self) -> float:
        """Return a random number between 0 and 1."""
        return self._chance.below(RANDOM_STEPS) / RANDOM_STEPS


def check_seconds(name: str, value: float) -> float:
    """Return the seconds, or raise `InvalidInput`: a wait of nan seconds would never end."""
    check_kind(name, value, (int, float, np.integer, np.floating), "a number of seconds")
    if not value >= 0:
        raise InvalidInput(f"{name} must be 0 seconds or more, found {value}.")
    return value

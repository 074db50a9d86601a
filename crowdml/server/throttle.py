"""Limit the rate of requests by a token bucket for each key."""

import math
import time
from collections.abc import Callable

from crowdml.phrase import Phrase
from crowdml.protocol import rejected

BURST = 10
MOST_KEYS = 65_536
"""The most keys that are kept at a time, so that memory is bounded."""


class Throttle:
    """Allow at most `per_minute` requests per minute for each key, in bursts of up to ten.

    >>> clock = iter([0.0, 0.0, 0.5]).__next__
    >>> throttle = Throttle(per_minute=60, burst=1, clock=clock)
    >>> throttle.take("a")
    >>> throttle.take("b")
    >>> throttle.take("a")
    Traceback (most recent call last):
    crowdml.errors.Rejected: at most 60 requests a minute are allowed. Try again in 0.5 s.
    """

    def __init__(
        self, per_minute: float, burst: float = BURST, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._per_minute = per_minute
        self._burst = burst
        self._clock = clock
        self._buckets: dict[object, tuple[float, float]] = {}

    def take(self, key: object) -> None:
        now = self._clock()
        if len(self._buckets) >= MOST_KEYS and key not in self._buckets:
            self._buckets.clear()
        bucket = self._buckets.get(key, (self._burst, now))
        self._buckets[key] = take_token(bucket, now, self._per_minute, self._burst)


def take_token(
    bucket: tuple[float, float], now: float, per_minute: float, burst: float
) -> tuple[float, float]:
    """Return the bucket after a request: tokens, and their time; raise `Rejected` if empty."""
    tokens, then = bucket
    tokens = min(burst, tokens + max(0.0, now - then) * per_minute / 60)
    if tokens < 1:
        wait = (1 - tokens) * 60 / per_minute
        words = Phrase(
            "at most {n} requests a minute are allowed. Try again in {seconds} s.",
            n=per_minute,
            seconds=math.ceil(wait * 10) / 10,
        )
        raise rejected("too-frequent", words, retry_after=wait)
    return tokens - 1, now

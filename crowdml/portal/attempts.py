"""Attempts to sign in: not too many at once."""

import asyncio

from crowdml.protocol import rejected
from crowdml.server.passwords import password_matches

__all__ = ["Attempts"]

MOST_AT_ONCE = 16
"""Passwords in comparison or waiting for it. A limit on attempts of all names together would let
anyone keep every owner out."""


class Attempts:
    """One password at a time is compared, and not too many wait: it takes work on purpose."""

    def __init__(self) -> None:
        self._turn = asyncio.Semaphore(1)
        self._waiting = 0

    async def matches(self, hashed: str | None, password: str) -> bool:
        if self._waiting >= MOST_AT_ONCE:
            raise rejected("too-frequent", "too many sign in at once.", retry_after=5)
        self._waiting += 1
        try:
            async with self._turn:
                return await asyncio.to_thread(password_matches, hashed, password)
        finally:
            self._waiting -= 1

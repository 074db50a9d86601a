"""Attempts to sign in: not too many at once."""

import asyncio
from collections import Counter

from crowdml.phrase import Phrase
from crowdml.protocol import rejected
from crowdml.server.database import password_matches

MOST_AT_ONCE, MOST_OF_ONE = 64, 2
"""Passwords in comparison or waiting for it, in all and from one address. A limit on attempts of
all names together would let anyone keep every owner out; so would few places for all addresses."""

MOST_OF_THIS_MACHINE = 16
"""On which a proxy may speak for everybody."""


class Attempts:
    """One password at a time is compared, and not too many wait: it takes work on purpose."""

    def __init__(self) -> None:
        self._turn = asyncio.Semaphore(1)
        self._waiting: Counter[str | None] = Counter()

    async def matches(self, hashed: str | None, password: str, visitor: str | None = None) -> bool:
        most = MOST_OF_THIS_MACHINE if visitor is None else MOST_OF_ONE
        if self._waiting[visitor] >= most or self._waiting.total() >= MOST_AT_ONCE:
            raise rejected("too-frequent", Phrase("too many sign in at once."), retry_after=5)
        self._waiting[visitor] += 1
        try:
            async with self._turn:
                return await asyncio.to_thread(password_matches, hashed, password)
        finally:
            self._waiting[visitor] -= 1
            self._waiting += Counter()

"""Limit how many passwords are compared at once."""

import asyncio
from collections import Counter

from crowdml.phrase import Phrase
from crowdml.protocol import rejected
from crowdml.server.database import password_matches

MOST_AT_ONCE, MOST_OF_ONE = 64, 2
"""The most passwords that are compared or wait: in total, and from one address. The total is
generous, because anyone could fill a small one and keep every owner out."""

MOST_OF_THIS_MACHINE = 16
"""The most passwords that wait from loopback, where a local proxy serves many visitors."""


class PasswordChecks:
    """Compare one password at a time and let few wait, because a comparison is slow on purpose."""

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

"""Wake the listeners of tasks, all at once and not too often."""

import asyncio
from contextlib import suppress


class Listeners:
    """Wake everybody who waits for `news`, an event that is set once and then replaced.

    Args:
        seconds: The least time from one waking to the next.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._changed = asyncio.Event()
        self.news = asyncio.Event()

    def request_wake(self) -> None:
        """Note that something has changed: listeners are woken as soon as `seconds` allows."""
        self._changed.set()

    async def run(self) -> None:
        """Wake all listeners at once, at most every `seconds`.

        Without a change they are woken ten times less often, which detects listeners that are gone.
        """
        while True:
            await asyncio.sleep(self._seconds)
            with suppress(TimeoutError):
                # Not `wait_for`, which before Python 3.12 can lose a cancellation.
                async with asyncio.timeout(10 * self._seconds):
                    await self._changed.wait()
            self._changed.clear()
            self.wake()

    def wake(self) -> None:
        """Wake all listeners now."""
        self.news.set()
        self.news = asyncio.Event()

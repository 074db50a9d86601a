"""Wake those who listen to changes of tasks, all at once and not too often."""

import asyncio
from contextlib import suppress


class Listeners:
    """Everybody who waits for `news`, an event that is set once and then replaced.

    Args:
        seconds: The least time from one waking to the next.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._changed = asyncio.Event()
        self.news = asyncio.Event()

    def notify(self) -> None:
        """Say that something has changed: listeners look as soon as they may."""
        self._changed.set()

    async def announce(self) -> None:
        """Let all listeners look at once, at most every `seconds`.

        Without a change they look ten times as rarely: then those that are gone are noticed.
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
        """Let all listeners look now."""
        self.news.set()
        self.news = asyncio.Event()

"""How long the server waits for the body of a request."""

import asyncio
import time
from collections.abc import Awaitable

from crowdml.phrase import Phrase
from crowdml.protocol import rejected


class Patience:
    """Requests whose bodies are being read, and since when.

    A look at all of them now and then costs less than a timer for each.

    Args:
        seconds: How long a body may take, at most a half more.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._since: dict[asyncio.Task[object], float] = {}
        self._given_up: set[asyncio.Task[object]] = set()

    async def read(self, body: Awaitable[bytes]) -> bytes:
        """Wait for the body of the current task's request; `Rejected` if it takes too long."""
        task = asyncio.current_task()
        assert task is not None
        self._since[task] = time.monotonic()
        try:
            return await body
        except asyncio.CancelledError:
            if task not in self._given_up:
                raise
            task.uncancel()
            words = Phrase(
                "the body must arrive within {seconds} s. Send the same bytes again.",
                seconds=self._seconds,
            )
            raise rejected("unavailable", words) from None
        finally:
            del self._since[task]
            self._given_up.discard(task)

    async def watch(self) -> None:
        """Give up on those that take too long, until cancelled."""
        while True:
            await asyncio.sleep(self._seconds / 2)
            latest = time.monotonic() - self._seconds
            for task, since in self._since.items():
                if since < latest and task not in self._given_up:
                    self._given_up.add(task)
                    task.cancel()

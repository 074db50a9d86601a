"""Use the database in separate threads, so that the event loop never waits for it."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from sqlalchemy.exc import SQLAlchemyError

from crowdml.phrase import Phrase
from crowdml.protocol import rejected
from crowdml.server.database import Store

T = TypeVar("T")


class Threads:
    """Run one thread that writes, one that reads, and one that waits for other processes.

    Args:
        database: The URL of the database.
        failed: Called with every failure of the database.
    """

    def __init__(self, database: str, failed: Callable[[Exception], None]) -> None:
        self._database = database
        self._failed = failed
        self._writer = ThreadPoolExecutor(max_workers=1, thread_name_prefix="store")
        self._reader = ThreadPoolExecutor(max_workers=1, thread_name_prefix="reader")
        self._watcher = ThreadPoolExecutor(max_workers=1, thread_name_prefix="watcher")

    async def open(self) -> None:
        self._store = await self._in(self._writer, lambda: Store(self._database))
        self._read = await self._in(self._reader, lambda: Store(self._database))

    async def close(self) -> None:
        self._watcher.shutdown()
        await self._in(self._reader, self._read.close)
        self._reader.shutdown()
        await self._in(self._writer, self._store.close)
        self._writer.shutdown()

    async def run_in_writer(self, function: Callable[[Store], T]) -> T:
        """Use the store in the one thread that writes."""
        return await self._in(self._writer, lambda: function(self._store))

    async def run_in_reader(self, function: Callable[[Store], T]) -> T:
        """Read from the database on a separate connection, which does not wait for commits."""
        return await self._in(self._reader, lambda: function(self._read))

    async def wait(self, seconds: float) -> None:
        """Return when other processes may have written, or after `seconds`."""
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(self._watcher, self._store.wait_for_changes, seconds)

    async def _in(self, thread: ThreadPoolExecutor, function: Callable[[], T]) -> T:
        try:
            return await asyncio.get_running_loop().run_in_executor(thread, function)
        except (SQLAlchemyError, OSError) as error:
            self._failed(error)
            words = Phrase("the database failed. Try again later.")
            raise rejected("unavailable", words) from error

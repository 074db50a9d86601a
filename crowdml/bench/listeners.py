"""Keep event streams of a task open while devices load the server."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from crowdml.bench.load import LoadPlan, unverified


class LoadListeners:
    """Hold open event streams; `events` counts the events of all streams."""

    def __init__(self) -> None:
        self.events = 0
        self._reading: list[asyncio.Task[None]] = []

    async def open(self, plan: LoadPlan, n: int) -> None:
        """Connect, and return when each stream has received an event."""
        request = f"GET /v1/tasks/{plan.task}/events HTTP/1.1\r\nHost: localhost\r\n\r\n"
        context = unverified() if plan.tls else None
        for _ in range(n):
            reader, writer = await asyncio.open_connection("127.0.0.1", plan.port, ssl=context)
            writer.write(request.encode())
            if b" 200 " not in await reader.readline():
                raise ConnectionError("the server rejected a listener.")
            await self._read_event(reader)
            self._reading.append(asyncio.create_task(self._read(reader, writer)))

    async def close(self) -> None:
        for task in self._reading:
            task.cancel()
        await asyncio.gather(*self._reading, return_exceptions=True)
        await asyncio.sleep(0)  # the loop closes aborted connections in its next iteration

    async def _read(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                await self._read_event(reader)
        finally:
            # Waiting for a TLS close message would outlive the loop.
            writer.transport.abort()

    async def _read_event(self, reader: asyncio.StreamReader) -> None:
        await reader.readuntil(b"event: statistics")
        self.events += 1


@contextmanager
def listening(plan: LoadPlan, n: int) -> Iterator[LoadListeners]:
    """Run `n` listeners in a thread; the process that starts the load is idle otherwise."""
    loop, listeners = asyncio.new_event_loop(), LoadListeners()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        asyncio.run_coroutine_threadsafe(listeners.open(plan, n), loop).result()
        yield listeners
    finally:
        asyncio.run_coroutine_threadsafe(listeners.close(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()

"""Serve the tasks of one database: start, follow what other processes write, and stop."""

import asyncio
import gc
import logging
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

from crowdml.errors import Rejected
from crowdml.server.database import Store
from crowdml.server.service.bodies import Bodies
from crowdml.server.service.commits import Commits
from crowdml.server.service.heartbeat import Heartbeat
from crowdml.server.service.listeners import Listeners
from crowdml.server.service.registry import Registry
from crowdml.server.service.threads import Threads
from crowdml.server.settings import Settings

T = TypeVar("T")
WATCH_SECONDS = 0.05
"""Seconds between two reads of what others wrote; under load, every commit reads it anyway."""

FORGET_SECONDS = 600
"""Seconds between two deletions of joins that are older than a day."""

logger = logging.getLogger("crowdml.server")


class Service:
    """Hold the state and the threads behind the routes.

    All writing happens in one thread, so it needs no locks, and its order is the order of the log.
    Readers use the published value, or read the database on a separate connection.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.ready = False
        self.closing = asyncio.Event()
        self.heartbeat = Heartbeat(settings.heartbeat_seconds)
        self.counts = self.heartbeat.counts
        self.bodies = Bodies(settings)
        self.listeners = Listeners(settings.events_seconds)
        self.threads = Threads(settings.database, self.heartbeat.failed)
        self.registry = Registry(settings, self.threads)
        self.commits = Commits(
            settings.largest_batch, self.threads, self.heartbeat, self.listeners.request_wake
        )
        self._forget_at = 0.0
        self._background: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        await self.threads.open()
        await self.run_in_writer(self.registry.load)
        await self.run_in_writer(self._beat)
        self._background = [
            asyncio.create_task(self.listeners.run()),
            asyncio.create_task(self._beat_on()),
            asyncio.create_task(self.commits.commit_groups()),
            asyncio.create_task(self._watch_store()),
            asyncio.create_task(self.bodies.watch()),
        ]
        # Objects that exist now stay for good, so the garbage collector need not visit them again.
        gc.freeze()
        self.ready = True
        logger.info("node %s started", self.heartbeat.name)

    async def stop(self) -> None:
        """Commit what has arrived, take snapshots, close the store."""
        self.close()
        for task in self._background:
            task.cancel()
        await asyncio.gather(*self._background, return_exceptions=True)
        await self.commits.commit_waiting()
        await self.run_in_writer(self._save_snapshots)
        await self.run_in_writer(self._beat)
        await self.threads.close()
        logger.info("node %s stopped", self.heartbeat.name)

    def close(self) -> None:
        """Mark the node as not ready, and close event streams and unfinished bodies."""
        self.ready = False
        self.closing.set()
        self.bodies.reject_unfinished()
        self.listeners.wake()

    async def run_in_writer(self, function: Callable[[Store], T]) -> T:
        """Use the store in its thread, without changing what this service keeps in memory."""
        return await self.threads.run_in_writer(function)

    async def run_in_reader(self, function: Callable[[Store], T]) -> T:
        """Read from the database on a separate connection, which does not wait for commits."""
        return await self.threads.run_in_reader(function)

    async def change_tasks(self, function: Callable[[Store], T]) -> T:
        """Change tasks, states or devices in the store, and apply the change at once."""
        result = await self.run_in_writer(function)
        await self.run_in_writer(self.registry.load)
        self.listeners.request_wake()
        return result

    def _save_snapshots(self, _: Store) -> None:
        for learner in self.registry.learners():
            learner.save_snapshot()

    async def _beat_on(self) -> None:
        while True:
            await asyncio.sleep(self.settings.heartbeat_seconds)
            await self.run_in_writer(self._beat)
            if time.monotonic() > self._forget_at:
                self._forget_at = time.monotonic() + FORGET_SECONDS
                with suppress(Rejected):
                    await self.run_in_writer(lambda store: store.joins.forget())

    def _beat(self, store: Store) -> None:
        self.heartbeat.beat(store, self.registry.learners())

    async def _watch_store(self) -> None:
        while True:
            await self.threads.wait(self.settings.poll_seconds)
            try:
                if await self.run_in_writer(self.registry.apply_changes):
                    self.listeners.request_wake()
                    await asyncio.sleep(WATCH_SECONDS)
            except Rejected:
                continue
            except Exception:
                logger.exception("cannot take in what other processes wrote; trying again")

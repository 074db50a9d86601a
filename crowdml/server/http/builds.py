"""Build large answers once each, outside the event loop and the writing thread."""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, TypeVar

from crowdml.learnt import write_model
from crowdml.server.content_coding import compress
from crowdml.server.http.compression import SMALLEST_COMPRESSED
from crowdml.server.log import Learner
from crowdml.server.results import learnt_model

T = TypeVar("T")


class SharedBuilds:
    """Build answers, at most `at_once` at a time.

    Args:
        at_once: The number of threads.
    """

    def __init__(self, at_once: int) -> None:
        self._threads = ThreadPoolExecutor(at_once, thread_name_prefix="build")
        self._running: dict[Hashable, asyncio.Future[Any]] = {}

    async def build_once(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return the result of `make`, or of the running build with the same key."""
        running = self._running.get(key)
        if running is None:
            running = asyncio.get_running_loop().run_in_executor(self._threads, make)
            self._running[key] = running
            running.add_done_callback(lambda _: self._running.pop(key))
        # A visitor who leaves must not cancel the build for the others.
        result: T = await asyncio.shield(running)
        return result

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)


class ExportedFile(NamedTuple):
    """Hold a learnt model as a file, in a content coding if that makes it smaller."""

    version: int
    body: bytes
    coding: str


class Exports:
    """Cache the newest file of each task in each format and coding.

    Args:
        most_bytes: The memory for files; the file with the oldest request is dropped first.
    """

    def __init__(self, builds: SharedBuilds, most_bytes: int) -> None:
        self._builds, self._most_bytes = builds, most_bytes
        self._files: OrderedDict[Hashable, ExportedFile] = OrderedDict()

    async def file(self, learner: Learner, format: str, coding: str) -> ExportedFile:
        """Return the current model or a newer one; raise `Rejected` while nothing is learnt."""
        key, asked = (learner.id, format, coding), learner.published.version
        file = self._files.get(key)
        while file is None or file.version < asked:
            # A build that began before the request may have an older version: then build again.
            file = await self._builds.build_once(key, lambda: _export(learner, format, coding))
        self._keep(key, file)
        return file

    def _keep(self, key: Hashable, file: ExportedFile) -> None:
        self._files[key] = file
        self._files.move_to_end(key)
        while len(self._files) > 1 and self._bytes > self._most_bytes:
            self._files.popitem(last=False)

    @property
    def _bytes(self) -> int:
        return sum(len(file.body) for file in self._files.values())


def _export(learner: Learner, format: str, coding: str) -> ExportedFile:
    published = learner.published
    body = write_model(learnt_model(published), format)
    if len(body) < SMALLEST_COMPRESSED:
        coding = ""
    return ExportedFile(published.version, compress(body, coding), coding)

"""Render pictures and worked examples in a thread, and cache them until the task changes."""

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from threading import Lock
from typing import Any, Generic, TypeVar

from crowdml.phrase import Phrase
from crowdml.portal.words import current_language
from crowdml.protocol import rejected

T = TypeVar("T")
MOST_CACHED = 512
ONE_AT_A_TIME = Lock()
"""Matplotlib's settings are shared by all threads, and one picture at a time leaves the processor
to check-ins."""


class RenderCache(Generic[T]):
    """Cache pictures or other slow results, and make them in one thread.

    Args:
        most_waiting: The most results to make at once; further requests are asked to retry.
    """

    def __init__(self, most_waiting: int) -> None:
        self._most_waiting = most_waiting
        self._results: OrderedDict[tuple[Any, ...], asyncio.Future[T]] = OrderedDict()
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="draw")

    async def get(self, key: tuple[Any, ...], make: Callable[[], T]) -> T:
        """Return the result with this key; while it is cached, `make` runs once per language."""
        key, here = (current_language(), *key), copy_context()

        def made() -> T:
            with ONE_AT_A_TIME:
                return here.run(make)

        found = self._results.get(key)
        if found is None:
            waiting = sum(not result.done() for result in self._results.values())
            if waiting >= self._most_waiting:
                raise rejected(
                    "unavailable", Phrase("too many pictures are being drawn."), retry_after=5
                )
            found = asyncio.get_running_loop().run_in_executor(self._thread, made)
            self._results[key] = found
            if len(self._results) > MOST_CACHED:
                self._results.popitem(last=False)
        try:
            return await asyncio.shield(found)
        except Exception:
            self._results.pop(key, None)
            raise

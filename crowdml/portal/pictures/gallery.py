"""Render pictures in a thread, and cache them until the task changes."""

import asyncio
import csv
import io
from collections import OrderedDict
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from threading import Lock
from typing import Any, Generic, TypeVar

from crowdml.phrase import Phrase
from crowdml.portal.words import current_language
from crowdml.protocol import rejected

T = TypeVar("T")
MOST = 512
ONE_AT_A_TIME = Lock()
"""Matplotlib's settings are shared by all threads, and one picture at a time leaves the processor
to check-ins."""


class Gallery(Generic[T]):
    """Cache pictures, or other slow results, and make them in one thread.

    Args:
        most_waiting: The most pictures to make at once; further requests are asked to retry.
    """

    def __init__(self, most_waiting: int) -> None:
        self._most_waiting = most_waiting
        self._pictures: OrderedDict[tuple[Any, ...], asyncio.Future[T]] = OrderedDict()
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="draw")

    async def picture(self, key: tuple[Any, ...], draw: Callable[[], T]) -> T:
        """Return the picture with this key; while it is cached, each language draws it once."""
        key, here = (current_language(), *key), copy_context()

        def drawn() -> T:
            with ONE_AT_A_TIME:
                return here.run(draw)

        found = self._pictures.get(key)
        if found is None:
            waiting = sum(not picture.done() for picture in self._pictures.values())
            if waiting >= self._most_waiting:
                raise rejected(
                    "unavailable", Phrase("too many pictures are being drawn."), retry_after=5
                )
            found = asyncio.get_running_loop().run_in_executor(self._thread, drawn)
            self._pictures[key] = found
            if len(self._pictures) > MOST:
                self._pictures.popitem(last=False)
        try:
            return await asyncio.shield(found)
        except Exception:
            self._pictures.pop(key, None)
            raise


def as_csv(columns: tuple[str, ...], rows: Iterable[tuple[float | str, ...]]) -> bytes:
    """Write a CSV file; an apostrophe precedes a text that a spreadsheet would compute.

    >>> as_csv(("checkins", "error"), [(1, -0.5), ("=1+1", 0)])
    b"checkins,error\\r\\n1,-0.5\\r\\n'=1+1,0\\r\\n"
    """
    text = io.StringIO()
    csv.writer(text).writerows([columns, *(map(_cell, row) for row in rows)])
    return text.getvalue().encode()


def _cell(value: float | str) -> float | str:
    computed = isinstance(value, str) and value.lstrip()[:1] in tuple("=+-@")
    return f"'{value}" if computed else value

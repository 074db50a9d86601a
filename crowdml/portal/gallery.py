"""Rendering pictures off the event loop, and keeping them until the task has moved on."""

import asyncio
import csv
import io
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

__all__ = ["Gallery", "as_csv"]

MOST = 512


class Gallery:
    """A cache of pictures in front of one drawing thread.

    One thread: Matplotlib's settings are shared by all threads, and one picture at a time leaves
    the processor to check-ins.
    """

    def __init__(self) -> None:
        self._pictures: OrderedDict[tuple[Any, ...], asyncio.Future[bytes]] = OrderedDict()
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="draw")

    async def picture(self, key: tuple[Any, ...], draw: Callable[[], bytes]) -> bytes:
        """The picture with this key, drawn at most once while it is remembered."""
        found = self._pictures.get(key)
        if found is None:
            found = asyncio.get_running_loop().run_in_executor(self._thread, draw)
            self._pictures[key] = found
            if len(self._pictures) > MOST:
                self._pictures.popitem(last=False)
        try:
            return await asyncio.shield(found)
        except Exception:
            self._pictures.pop(key, None)
            raise


def as_csv(columns: tuple[str, ...], rows: list[tuple[float, ...]]) -> bytes:
    """
    >>> as_csv(("checkins", "error"), [(1, 0.5)])
    b'checkins,error\\r\\n1,0.5\\r\\n'
    """
    text = io.StringIO()
    csv.writer(text).writerows([columns, *rows])
    return text.getvalue().encode()

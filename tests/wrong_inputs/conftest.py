"""Give every row of the tables the same time limit: a command that hangs fails its row."""

import signal
from collections.abc import Iterator
from types import FrameType

import pytest

SECONDS = 300.0


class Hung(BaseException):
    """Report a row that took too long; no `except Exception` of the code under test catches it."""


@pytest.fixture(autouse=True)
def _in_time() -> Iterator[None]:
    def stop(number: int, frame: FrameType | None) -> None:
        raise Hung(f"nothing was said within {SECONDS:g} seconds")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)

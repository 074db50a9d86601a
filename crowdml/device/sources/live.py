"""Run a live source until somebody stops it, and check in meanwhile."""

import math
import time
from collections.abc import Callable
from typing import Protocol

from crowdml.device.device import Device
from crowdml.device.sources.feed import SourceCounts
from crowdml.device.sources.intake import Intake

CHECK_SECONDS = 0.5
"""Seconds between two checks for other work while no message arrives."""

CLOSING_SECONDS = 60.0
"""Seconds after the end for which a source stays open, so that the app can be told about it."""


class LiveSource(Protocol):
    """Deliver the messages of a sensor app to the intake."""

    def poll(self, seconds: float) -> bool:
        """Pass new messages to the intake, waiting at most this time; return False at the end."""
        ...

    def close(self) -> None: ...

    @property
    def end_is_known(self) -> bool:
        """Return whether the app was told that the task is over, or cannot be told."""
        ...


def run_live(
    device: Device,
    intake: Intake,
    source: LiveSource,
    stopped: Callable[[], bool] = lambda: False,
    wait: float = 0.0,
    on_doubt: Callable[[str], bool] = lambda said: False,
    clock: Callable[[], float] = time.monotonic,
) -> SourceCounts:
    """Take messages and check in, until stopped, or until the source or the task has ended.

    Args:
        wait: Seconds to keep retrying a check-in once the source has ended.
        on_doubt: Called before the first check-in, if most rows cannot be in the task's units or
            nearly all are the same; returns whether to go on.
        clock: Seconds that never go back.

    Raises:
        DoubtfulRows: `on_doubt` has answered no. Nothing was spent, and none of the rows is kept.
    """
    counts, before, goes_on = intake.counts, device.n_answered, True
    closes = -math.inf if device.ended else math.inf
    try:
        while goes_on and not stopped():
            if device.ended:
                intake.ended, closes = True, min(closes, clock() + CLOSING_SECONDS)
                if source.end_is_known or clock() >= closes:
                    break
            goes_on = source.poll(CHECK_SECONDS)
            intake.flush_if_quiet()
            intake.resolve_doubt(on_doubt)
            counts.outcome = device.sync()
    finally:
        source.close()
    intake.finish(on_doubt)
    counts.outcome = device.sync() if goes_on else device.flush(wait)
    counts.answered = device.n_answered - before
    return counts

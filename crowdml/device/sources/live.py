"""Run a live source until somebody stops it, and check in meanwhile."""

from collections.abc import Callable
from typing import Protocol

from crowdml.device.device import Device
from crowdml.device.sources.feed import SourceCounts
from crowdml.device.sources.intake import Intake

PULSE = 0.5
"""Seconds between two checks for other work while no message arrives."""


class LiveSource(Protocol):
    """Deliver the messages of a sensor app to the intake."""

    def poll(self, seconds: float) -> bool:
        """Pass new messages to the intake, waiting at most this time; return False at the end."""
        ...

    def close(self) -> None: ...


def run_live(
    device: Device,
    intake: Intake,
    source: LiveSource,
    stopped: Callable[[], bool] = lambda: False,
    wait: float = 0.0,
    on_doubt: Callable[[str], bool] = lambda said: False,
) -> SourceCounts:
    """Take messages and check in, until stopped, or until the source or the task has ended.

    Args:
        wait: Seconds to keep retrying a check-in once the source has ended.
        on_doubt: Called before the first check-in, if most rows cannot be in the task's units or
            nearly all are the same; returns whether to go on.

    Raises:
        DoubtfulRows: `on_doubt` has answered no. Nothing was spent, and none of the rows is kept.
    """
    counts, before, goes_on = intake.counts, device.n_answered, True
    try:
        while goes_on and not (stopped() or device.ended):
            goes_on = source.poll(PULSE)
            intake.flush_if_quiet()
            intake.resolve_doubt(on_doubt)
            counts.outcome = device.sync()
    finally:
        source.close()
    intake.finish(on_doubt)
    counts.outcome = device.sync() if goes_on else device.flush(wait)
    counts.answered = device.n_answered - before
    return counts

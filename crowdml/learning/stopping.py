"""When the error counts as surely at most the target error ρ."""

import math
from dataclasses import dataclass
from functools import cached_property
from statistics import NormalDist

from crowdml.privacy import Mechanism
from crowdml.protocol import Task

__all__ = ["LIARS", "ONE", "StoppingRule"]

LIARS = 0.05
"""The share of the devices in the window that may lie in the worst way."""

ONE = 2**40
"""Shares are kept in whole parts of this, so that sums have no rounding that depends on order."""


@dataclass(frozen=True)
class StoppingRule:
    """A task's target error, and what the newest reports must show for it.

    Args:
        error: ρ.
        window: The most reports that are looked at.
        fewest_devices: How many devices must have reported.
        fewest_evaluated: How many predictions must be behind their reports.
        confidence: Of a one-sided interval.
        mechanism: What makes the noise in the reports.

    Reference: a score test, as in E. B. Wilson, JASA 22 (1927).
    """

    error: float
    window: int
    fewest_devices: int
    fewest_evaluated: int
    confidence: float
    mechanism: Mechanism

    @classmethod
    def of(cls, task: Task, mechanism: Mechanism) -> "StoppingRule | None":
        """The rule of a task; None if the task has no target error."""
        stop = task.stop
        if stop.error is None:
            return None
        devices = min(stop.devices, stop.window)
        evaluated = task.fewest_evaluated
        return cls(stop.error, stop.window, devices, evaluated, stop.confidence, mechanism)

    def is_met(self, devices: int, evaluated: int, surplus: int, variance: int) -> bool:
        """Whether the target is reached.

        Args:
            devices: How many have reported.
            evaluated: Predictions behind their reports.
            surplus: By how much their mean shares exceed what ρ would give, summed, in ONEths.
            variance: Of that sum, in ONEths.
        """
        if devices < self.fewest_devices or evaluated < self.fewest_evaluated:
            return False
        return surplus + self._z * math.sqrt(variance * ONE) <= 0

    @cached_property
    def _z(self) -> float:
        return NormalDist().inv_cdf(self.confidence)

    @cached_property
    def _at_target(self) -> dict[int, tuple[float, int]]:
        return {}

    def expected(self, evaluated: int) -> tuple[float, int]:
        """The share that reports are held against, and its variance in ONEths.

        Remembered, because most reports have the same number of predictions.
        """
        known = self._at_target.get(evaluated)
        if known is None:
            if len(self._at_target) > 1000:
                self._at_target.clear()
            mean, variance = self.mechanism.counted_at(self.error, evaluated)
            known = (1 - LIARS) * mean / evaluated, round(variance / evaluated**2 * ONE)
            self._at_target[evaluated] = known
        return known

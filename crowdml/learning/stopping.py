"""Decide when the error is surely at most the target error ρ."""

import math
from bisect import bisect_left
from dataclasses import dataclass
from functools import cached_property
from statistics import NormalDist
from typing import NamedTuple

from crowdml.privacy import Mechanism
from crowdml.protocol import Task

LIARS_TOLERATED = 0.05
"""The share of the devices in the window that may lie in the worst way."""

LOOKS_PER_WINDOW = 4
"""How many times the evidence is looked at while the shortest window fills."""

LENGTHS = (1, 4, 16)
"""The windows that are looked at, in multiples of the shortest."""

LONGEST_WINDOW = 100_000
"""The most reports in a window."""

ONE = 2**40
"""Shares are kept in whole parts of this, so that sums have no rounding that depends on order."""


class ExpectedReport(NamedTuple):
    """Hold the share of errors in a report if the error is ρ, and its variances in ONEths."""

    share: float
    noise: int
    sampling: int


class WindowSums(NamedTuple):
    """Hold what the reports of a window show together.

    Args:
        devices: How many devices have reported.
        evaluated: Predictions behind their reports.
        surplus: By how much each device's mean share exceeds what ρ would give, summed, in ONEths.
        squares: The same means squared, summed, in ONEths of ONEths.
        variance: The variance of `surplus` if the error is ρ, in ONEths.
    """

    devices: int = 0
    evaluated: int = 0
    surplus: int = 0
    squares: int = 0
    variance: int = 0


@dataclass(frozen=True)
class StoppingRule:
    """Hold a task's target error, and what the newest reports must show to reach it.

    The rule looks at three windows after every quarter of the shortest one. Each look at a window
    may be mistaken with an equal part of 1 − `confidence`, so that the parts of all looks until
    T_max add up to it. A look asks for two margins, and both must hold:

    - z standard deviations of reports at ρ, if each person's reports are as alike as can be: this
      holds for one-bit reports however people differ;
    - t standard deviations as the devices show them: people may differ by more than one report
      of many predictions would.

    Args:
        error: ρ.
        window: The most reports in the shortest window.
        fewest_devices: How many devices must have reported.
        fewest_evaluated: How many predictions must be behind their reports.
        confidence: The probability, over all looks, that the task does not end by mistake.
        looks: The most looks until T_max, each at all windows.
        mechanism: What makes the noise in the reports.

    Reference: a score test, as in E. B. Wilson, JASA 22 (1927), for each of many looks, as in
    O. J. Dunn, JASA 56 (1961).
    """

    error: float
    window: int
    fewest_devices: int
    fewest_evaluated: int
    confidence: float
    looks: int
    mechanism: Mechanism

    @classmethod
    def of(cls, task: Task, mechanism: Mechanism) -> "StoppingRule | None":
        """Make the rule of a task; None if the task has no target error."""
        stop = task.stop
        if stop.error is None:
            return None
        reports = task.t_max * (task.terms.collection.roles.evaluators or 1.0)
        return cls(
            error=stop.error,
            window=stop.window,
            fewest_devices=min(stop.devices, stop.window),
            fewest_evaluated=task.fewest_evaluated,
            confidence=stop.confidence,
            looks=math.ceil(reports / _interval(stop.window)),
            mechanism=mechanism,
        )

    @property
    def windows(self) -> tuple[int, ...]:
        """Return the length of each window."""
        return tuple(
            min(times * self.window, max(self.window, LONGEST_WINDOW)) for times in LENGTHS
        )

    def is_due(self, reports: int) -> bool:
        """Return whether to look at the evidence after this number of reports of the whole task."""
        return reports % _interval(self.window) == 0

    def is_met(self, sums: WindowSums) -> bool:
        """Return whether the target is reached."""
        n = sums.devices
        if n < max(2, self.fewest_devices) or sums.evaluated < self.fewest_evaluated:
            return False
        between = (n * sums.squares - sums.surplus**2) / (n - 1)  # exact, and so never below 0
        margins = (
            self._z * math.sqrt(sums.variance * ONE),
            student_t(self._z, n - 1) * math.sqrt(between),
        )
        return sums.surplus + max(margins) <= 0

    def least_devices(self, reports: int = 1) -> int | None:
        """Return about how many devices a model that is never wrong needs to reach the target.

        Each device has this number of reports of one prediction, or as many as the longest window
        holds, at their expected value. Return None if the window holds too few devices.
        """
        law, expected, longest = (
            self.mechanism.error_count_law(0.0, 1),
            self.expected(1),
            self.windows[-1],
        )
        surplus = round((law.mean - expected.share) * ONE)

        def reached(n: int) -> bool:
            each = min(reports, longest // n)
            variance = expected.noise // each + expected.sampling
            return self.is_met(WindowSums(n, n * each, n * surplus, n * surplus**2, n * variance))

        every = range(1, longest + 1)
        index = bisect_left(every, True, key=reached)
        return every[index] if index < len(every) else None

    @cached_property
    def _z(self) -> float:
        return -NormalDist().inv_cdf((1 - self.confidence) / (self.looks * len(LENGTHS)))

    @cached_property
    def _at_target(self) -> dict[int, ExpectedReport]:
        return {}

    def expected(self, evaluated: int) -> ExpectedReport:
        """Return what a report of this many predictions is compared with.

        The result is cached, because most reports have the same number of predictions.
        """
        known = self._at_target.get(evaluated)
        if known is None:
            if len(self._at_target) > 1000:
                self._at_target.clear()
            law = self.mechanism.error_count_law(self.error, evaluated)
            noise, sampling = (round(v / evaluated**2 * ONE) for v in (law.noise, law.sampling))
            known = ExpectedReport((1 - LIARS_TOLERATED) * law.mean / evaluated, noise, sampling)
            self._at_target[evaluated] = known
        return known


def student_t(z: float, freedom: int) -> float:
    """Return the quantile of Student's t that is as rare as z is in the normal distribution.

    It is never too small, and from five degrees of freedom on at most 0.3 % too large.

    Reference: D. L. Wallace, Annals of Mathematical Statistics 30 (1959), the inverse of his bound.

    >>> round(student_t(3.0902, 19), 2)    # 3.58 in tables, for 0.999
    3.58
    """
    scaled = z * (8 * freedom + 3) / (8 * freedom + 1)
    return math.sqrt(freedom * math.expm1(scaled**2 / freedom))


def _interval(window: int) -> int:
    """Return the number of reports from one look to the next."""
    return max(1, window // LOOKS_PER_WINDOW)

"""Whether the error is surely at most the target, though some of those who report it lie."""

import math
from collections import deque
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from crowdml.privacy import Mechanism
from crowdml.protocol import Task
from crowdml.types import Ints

__all__ = ["LIARS", "Evidence"]

LIARS = 0.05
"""The share of the devices in the window that may lie in the worst way."""

ONE = 2**40
"""Shares are kept in whole parts of this, so that sums have no rounding that depends on order."""


class Report(NamedTuple):
    """What a check-in that evaluates says: so many of so many predictions were wrong.

    `counted` lies in 0 … `evaluated`.
    """

    device: int
    counted: int
    evaluated: int


class Voice:
    """One device: the numbers of its reports, the oldest first, and their sums."""

    def __init__(self) -> None:
        self.reports: deque[int] = deque()
        self.surplus = 0
        self.variance = 0

    @property
    def weighed(self) -> tuple[int, int]:
        """The mean of its reports, and the variance of that."""
        n = len(self.reports)
        return (self.surplus // n, self.variance // n**2) if n else (0, 0)


class Evidence:
    """The newest reports of errors, held against ρ.

    A count is cut to what is possible before it is used, so that a lie is at most a count of 0.
    Noise that is cut has another mean: that for an error of ρ is known, and a larger error has no
    lower one. Every device counts the same, however often it reports; none has more than twice its
    even share of the window; and the target is reached when at least `stop.devices` of them
    together are surely below what ρ would give, even if one in twenty always counted 0.

    Args:
        task: With a target error.
        mechanism: What makes the noise.

    Reference: a score test, as in E. B. Wilson, JASA 22 (1927).
    """

    def __init__(self, task: Task, mechanism: Mechanism) -> None:
        stop = task.stop
        assert stop.error is not None
        self._rho = stop.error
        self._mechanism = mechanism
        self._length = stop.window
        self._fewest_devices = min(stop.devices, stop.window)
        self._fewest_evaluated = task.fewest_evaluated
        self._z = NormalDist().inv_cdf(stop.confidence)
        self._at_target: dict[int, tuple[float, int]] = {}
        self.clear()

    def clear(self) -> None:
        self._reports: dict[int, Report] = {}
        self._voices: dict[int, Voice] = {}
        self._next = 0
        self._evaluated = 0
        self._surplus = 0
        self._variance = 0

    def __len__(self) -> int:
        return len(self._reports)

    @property
    def devices(self) -> int:
        return len(self._voices)

    def add(self, device: int, counted: int, evaluated: int) -> None:
        voice = self._append(Report(device, counted, evaluated))
        while len(voice.reports) > max(1, 2 * self._length // len(self._voices)):
            self._drop(voice.reports[0])
        if len(self._reports) > self._length:
            self._drop(next(iter(self._reports)))

    @property
    def conclusive(self) -> bool:
        """Whether the target is reached."""
        if self.devices < self._fewest_devices or self._evaluated < self._fewest_evaluated:
            return False
        return self._surplus + self._z * math.sqrt(self._variance * ONE) <= 0

    def _append(self, report: Report) -> Voice:
        number, self._next = self._next, self._next + 1
        self._reports[number] = report
        voice = self._voices.setdefault(report.device, Voice())
        self._change(voice, report, 1, number)
        return voice

    def _drop(self, number: int) -> None:
        """The oldest report of its device."""
        report = self._reports.pop(number)
        voice = self._voices[report.device]
        self._change(voice, report, -1)
        if not voice.reports:
            del self._voices[report.device]

    def _change(self, voice: Voice, report: Report, sign: int, number: int | None = None) -> None:
        surplus, variance = voice.weighed
        expected, spread = self._expected(report.evaluated)
        voice.surplus += sign * round((report.counted / report.evaluated - expected) * ONE)
        voice.variance += sign * spread
        if number is None:
            voice.reports.popleft()
        else:
            voice.reports.append(number)
        now_surplus, now_variance = voice.weighed
        self._surplus += now_surplus - surplus
        self._variance += now_variance - variance
        self._evaluated += sign * report.evaluated

    def _expected(self, evaluated: int) -> tuple[float, int]:
        """What shares are held against, and their variance, remembered: most have the same n."""
        known = self._at_target.get(evaluated)
        if known is None:
            if len(self._at_target) > 1000:
                self._at_target.clear()
            mean, variance = self._mechanism.counted_at(self._rho, evaluated)
            known = (1 - LIARS) * mean / evaluated, round(variance / evaluated**2 * ONE)
            self._at_target[evaluated] = known
        return known

    def to_array(self) -> Ints:
        return np.array(list(self._reports.values()), dtype=np.int64).reshape(-1, 3)

    def restore(self, reports: Ints) -> None:
        """All else follows from these: sums are of whole numbers."""
        self.clear()
        for report in reports.tolist():
            self._append(Report(*report))

"""Whether the error is surely at most the target, though some of those who report it lie."""

from typing import NamedTuple

import numpy as np

from crowdml.frozen_map import FrozenMap
from crowdml.learning.stopping import ONE, StoppingRule
from crowdml.types import Ints

__all__ = ["Evidence"]

NONE = -1


class Report(NamedTuple):
    """What a check-in that evaluates says: `counted` of `evaluated` predictions were wrong.

    Args:
        device: Who says so.
        counted: From 0 to `evaluated`.
        evaluated: All predictions.
        surplus, variance: By how much that share exceeds what ρ would give, and the variance, in
            ONEths.
    """

    device: int
    counted: int
    evaluated: int
    surplus: int
    variance: int


class DeviceReports(NamedTuple):
    """One device: how many reports it has, the numbers of two of them, and their sums and means."""

    reports: int = 0
    oldest: int = NONE
    newest: int = NONE
    surplus: int = 0
    variance: int = 0
    mean: int = 0
    mean_variance: int = 0


NO_REPORTS = DeviceReports()


class Evidence:
    """The newest reports of errors, held against ρ, as a value.

    A count is cut to what is possible before it is used, so that a lie is at most a count of 0.
    Noise that is cut has another mean: that for an error of ρ is known, and a larger error has no
    lower one. Every device counts the same, however often it reports; none has more than twice its
    even share of the window; and the target is reached when at least `stop.devices` of them
    together are surely below what ρ would give, even if one in twenty always counted 0.
    """

    def __init__(self, rule: StoppingRule) -> None:
        self._rule = rule
        self._reports: FrozenMap[Report] = FrozenMap()
        self._by_device: FrozenMap[DeviceReports] = FrozenMap()
        self._later: FrozenMap[int] = FrozenMap()  # of a report, the same device's next one
        self._oldest = 0
        self._next = 0
        self._evaluated = 0
        self._surplus = 0
        self._variance = 0

    def __len__(self) -> int:
        return len(self._reports)

    @property
    def devices(self) -> int:
        return len(self._by_device)

    @property
    def conclusive(self) -> bool:
        """Whether the target is reached."""
        return self._rule.is_met(self.devices, self._evaluated, self._surplus, self._variance)

    def with_report(self, device: int, counted: int, evaluated: int) -> "Evidence":
        """Add the newest report, and drop what is more than the window or the device may hold."""
        new = Evidence.__new__(Evidence)
        new.__dict__.update(self.__dict__)
        new._append(device, counted, evaluated)
        window = new._rule.window
        most = max(1, 2 * window // len(new._by_device))
        while (own := new._by_device[device]).reports > most:
            new._drop(own.oldest)
        if len(new._reports) > window:
            new._drop(new._oldest)
        return new

    # These change a copy that nobody else has yet.

    def _append(self, device: int, counted: int, evaluated: int) -> None:
        number, self._next = self._next, self._next + 1
        expected, variance = self._rule.expected(evaluated)
        surplus = round((counted / evaluated - expected) * ONE)
        report = Report(device, counted, evaluated, surplus, variance)
        self._reports = self._reports.with_item(number, report)
        self._evaluated += evaluated
        old = self._by_device.get(device, NO_REPORTS)
        if old.reports:
            self._later = self._later.with_item(old.newest, number)
        oldest = old.oldest if old.reports else number
        surplus, variance = old.surplus + surplus, old.variance + variance
        self._replace(device, old, old.reports + 1, oldest, number, surplus, variance)

    def _drop(self, number: int) -> None:
        """A device's oldest report."""
        device, _, evaluated, surplus, variance = self._reports[number]
        self._reports = self._reports.without(number)
        self._evaluated -= evaluated
        old, later = self._by_device[device], NONE
        if old.reports > 1:
            later, self._later = self._later[number], self._later.without(number)
        surplus, variance = old.surplus - surplus, old.variance - variance
        self._replace(device, old, old.reports - 1, later, old.newest, surplus, variance)
        if number == self._oldest:
            self._oldest = _oldest(self._reports, number + 1)

    def _replace(
        self,
        device: int,
        old: DeviceReports,
        n: int,
        oldest: int,
        newest: int,
        surplus: int,
        variance: int,
    ) -> None:
        """Give a device n reports with these sums, in the place of what it had."""
        mean, mean_variance = (surplus // n, variance // n**2) if n else (0, 0)
        self._surplus += mean - old.mean
        self._variance += mean_variance - old.mean_variance
        if n:
            new = DeviceReports(n, oldest, newest, surplus, variance, mean, mean_variance)
            self._by_device = self._by_device.with_item(device, new)
        else:
            self._by_device = self._by_device.without(device)

    def to_array(self) -> Ints:
        reports = [report[:3] for _, report in sorted(self._reports.items())]
        return np.array(reports, dtype=np.int64).reshape(-1, 3)

    @classmethod
    def from_array(cls, rule: StoppingRule, reports: Ints) -> "Evidence":
        """All else follows from the reports: sums are of whole numbers."""
        new = cls(rule)
        for report in reports.tolist():
            new._append(*report)
        return new


def _oldest(reports: FrozenMap[Report], first: int) -> int:
    """The lowest number of a report, which is `first` or more; 0 if there is none."""
    for number in range(first, first + len(reports)):
        if number in reports:
            return number
    return min(reports, default=0)  # rare: that many numbers in a row were dropped before

"""Hold the newest reports of errors, and what they show together."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from crowdml.frozen_map import FrozenMap
from crowdml.learning.stopping import ONE, StoppingRule, WindowSums

NO_REPORT_NUMBER = -1


class Report(NamedTuple):
    """Hold what a check-in that evaluates reports.

    Args:
        device: Who says so.
        reported_errors: The number of wrong predictions, from 0 to `evaluated`.
        evaluated: The number of predictions that were checked.
        surplus: By how much that share exceeds what ρ would give, in ONEths.
        noise, sampling: The parts of its variance at ρ, in ONEths.
    """

    device: int
    reported_errors: int
    evaluated: int
    surplus: int
    noise: int
    sampling: int


class DeviceReports(NamedTuple):
    """Hold one device's reports: their number, the numbers of two of them, and their sums.

    `mean` is the mean surplus. `variance` is the variance of that mean if the error is ρ and the
    device's reports are as alike as possible; then more reports reduce only the noise.
    """

    reports: int = 0
    oldest: int = NO_REPORT_NUMBER
    newest: int = NO_REPORT_NUMBER
    surplus: int = 0
    noise: int = 0
    sampling: int = 0
    mean: int = 0
    variance: int = 0


NO_REPORTS = DeviceReports()


class ReportWindow:
    """Hold the newest reports, at most `length`, and compare them with ρ.

    Every device has the same weight, however often it reports, and none has more than twice its
    even share of the window.
    """

    def __init__(self, rule: StoppingRule, length: int) -> None:
        self.length = length
        self.sums = WindowSums()
        self._rule = rule
        self._reports: FrozenMap[Report] = FrozenMap()
        self._by_device: FrozenMap[DeviceReports] = FrozenMap()
        self._later: FrozenMap[int] = FrozenMap()  # of a report, the same device's next one
        self._oldest = 0
        self._next = 0

    def __len__(self) -> int:
        return len(self._reports)

    def with_report(
        self, device: int, reported_errors: int, evaluated: int, devices: int = 0
    ) -> "ReportWindow":
        """Add the newest report, and drop reports beyond the limits of the window or the device.

        Args:
            devices: How many devices report at all, where that is more than the window holds.
        """
        new = ReportWindow.__new__(ReportWindow)
        new.__dict__.update(self.__dict__)
        new._append(device, reported_errors, evaluated)
        most = max(1, 2 * new.length // max(devices, new.sums.devices))
        while (own := new._by_device[device]).reports > most:
            new._drop(own.oldest)
        if len(new._reports) > new.length:
            new._drop(new._oldest)
        return new

    # These lines change a copy that nothing else refers to yet.

    def _append(self, device: int, reported_errors: int, evaluated: int) -> None:
        number, self._next = self._next, self._next + 1
        expected = self._rule.expected(evaluated)
        surplus = round((reported_errors / evaluated - expected.share) * ONE)
        report = Report(
            device, reported_errors, evaluated, surplus, expected.noise, expected.sampling
        )
        self._reports = self._reports.with_item(number, report)
        old = self._by_device.get(device, NO_REPORTS)
        if old.reports:
            self._later = self._later.with_item(old.newest, number)
        oldest = old.oldest if old.reports else number
        self._replace(old, _changed_reports(old, report, 1, oldest, number), report, 1)

    def _drop(self, number: int) -> None:
        """Drop a device's oldest report."""
        report = self._reports[number]
        self._reports = self._reports.without(number)
        old, later = self._by_device[report.device], NO_REPORT_NUMBER
        if old.reports > 1:
            later, self._later = self._later[number], self._later.without(number)
        self._replace(old, _changed_reports(old, report, -1, later, old.newest), report, -1)
        while self._oldest not in self._reports:  # each report is passed once
            self._oldest += 1

    def _replace(self, old: DeviceReports, new: DeviceReports, report: Report, sign: int) -> None:
        """Replace `old` by `new` for a device, after a report was added or dropped."""
        if new.reports:
            self._by_device = self._by_device.with_item(report.device, new)
        else:
            self._by_device = self._by_device.without(report.device)
        sums = self.sums
        self.sums = WindowSums(
            len(self._by_device),
            sums.evaluated + sign * report.evaluated,
            sums.surplus + new.mean - old.mean,
            sums.squares + new.mean**2 - old.mean**2,
            sums.variance + new.variance - old.variance,
        )

    def rows(self) -> Iterator[tuple[int, int, int]]:
        """Return device, reported errors and evaluated of each report, the oldest first."""
        for _, report in sorted(self._reports.items()):
            yield report[:3]

    @classmethod
    def of(cls, rule: StoppingRule, length: int, rows: Iterable[Sequence[int]]) -> "ReportWindow":
        """Rebuild the window from such rows; its sums are exact, because they are of integers."""
        new = cls(rule, length)
        for device, reported_errors, evaluated in rows:
            new._append(device, reported_errors, evaluated)
        return new


def _changed_reports(
    old: DeviceReports, report: Report, sign: int, oldest: int, newest: int
) -> DeviceReports:
    """Return a device's sums after a report was added (`sign` is 1) or dropped (−1)."""
    n = old.reports + sign
    if not n:
        return NO_REPORTS
    surplus = old.surplus + sign * report.surplus
    noise = old.noise + sign * report.noise
    sampling = old.sampling + sign * report.sampling
    variance = noise // n**2 + sampling // n
    return DeviceReports(n, oldest, newest, surplus, noise, sampling, surplus // n, variance)

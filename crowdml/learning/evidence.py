"""Decide whether the error is surely at most the target, even if some reports are lies."""

import numpy as np

from crowdml.learning.report_window import ReportWindow
from crowdml.learning.stopping import StoppingRule
from crowdml.types import Ints


class Evidence:
    """Hold reports of errors in windows of several lengths.

    A short window shows a low error soon. A long window shows an error that is little below ρ, or
    hidden by much noise. A count is cut to what is possible before it is used, so a lie is at most
    a count of 0. Cut noise has another mean, which is known for an error of ρ; a larger error has
    no lower mean. The target is reached when, in one of the windows, at least `stop.devices`
    devices together are surely below what ρ would give, even if one in twenty always reported 0.
    """

    def __init__(self, rule: StoppingRule) -> None:
        self._rule = rule
        self.windows = tuple(ReportWindow(rule, length) for length in rule.windows)

    @property
    def conclusive(self) -> bool:
        """Return whether the target is reached."""
        return any(self._rule.is_met(window.sums) for window in self.windows)

    def with_report(self, device: int, reported_errors: int, evaluated: int) -> "Evidence":
        """Add the newest report to every window.

        The even share of a device counts all devices that could report: those of the longest
        window.
        """
        longest = self.windows[-1].with_report(device, reported_errors, evaluated)
        devices = longest.sums.devices
        shorter = (
            window.with_report(device, reported_errors, evaluated, devices)
            for window in self.windows[:-1]
        )
        return self._with_windows((*shorter, longest))

    def _with_windows(self, windows: tuple[ReportWindow, ...]) -> "Evidence":
        new = Evidence.__new__(Evidence)
        new._rule, new.windows = self._rule, windows
        return new

    def to_array(self) -> Ints:
        """Write a row for each report of each window: the window, then `ReportWindow.rows`."""
        rows = [(i, *row) for i, window in enumerate(self.windows) for row in window.rows()]
        return np.array(rows, dtype=np.int64).reshape(-1, 4)

    @classmethod
    def from_array(cls, rule: StoppingRule, rows: Ints) -> "Evidence":
        """Read the rows of `to_array`."""
        return cls(rule)._with_windows(
            tuple(
                ReportWindow.of(rule, length, rows[rows[:, 0] == i, 1:].tolist())
                for i, length in enumerate(rule.windows)
            )
        )

"""Store the reports that still show something about the current exported model."""

import math
from array import array

import numpy as np

from crowdml.learning.error_band import BINS, LOG_VERSION_SPAN
from crowdml.types import Array

COLUMNS = 5
MOST_ROWS = 8192
"""Rows before old reports are dropped and the others added up."""

GROUPS = 256
"""Devices of the same remainder are added up as one: that hides no difference between people, since
each person stays in one group."""


class Reports:
    """Hold a row for each report, as a value: version, device, errors, predictions, reports.

    Values that follow each other share one growing array, and each reads only its own part of it.
    From 8,192 rows on, reports of the same group of devices about nearly the same version share a
    row, so that the number of rows is bounded.

    >>> one = Reports().with_report(version=3, device=7, errors=2.0, evaluated=10)
    >>> two = one.with_report(version=4, device=8, errors=1.0, evaluated=10)
    >>> len(one), two.rows.tolist()
    (1, [[3.0, 7.0, 2.0, 10.0, 1.0], [4.0, 8.0, 1.0, 10.0, 1.0]])
    """

    __slots__ = ("_end", "_numbers")

    def __init__(self, rows: Array | None = None) -> None:
        self._numbers = array("d") if rows is None else array("d", rows.ravel().tolist())
        self._end = len(self._numbers)

    def __len__(self) -> int:
        return self._end // COLUMNS

    @property
    def rows(self) -> Array:
        """Return a copy of the rows, the oldest first: other values may extend the array."""
        return np.array(self._numbers[: self._end]).reshape(-1, COLUMNS)

    def with_report(self, version: int, device: int, errors: float, evaluated: int) -> "Reports":
        """Add a report about the exported model at a version."""
        new, numbers = Reports.__new__(Reports), self._numbers
        if self._end >= MOST_ROWS * COLUMNS:
            numbers = array("d", _merge_rows(self.rows).ravel().tolist())
        elif self._end != len(numbers):
            numbers = numbers[: self._end]  # another value has already appended to the shared array
        numbers.extend((version, device, errors, evaluated, 1))
        new._numbers, new._end = numbers, len(numbers)
        return new

    def used(self, version: int) -> int:
        """Count the reports that say something about the model at this version.

        >>> reports = Reports().with_report(version=3, device=7, errors=2.0, evaluated=10)
        >>> reports.used(version=9), reports.used(version=10)
        (1, 0)
        """
        rows = self.rows
        near = np.log((version + 1) / (rows[:, 0] + 1)) <= LOG_VERSION_SPAN
        return int(rows[near, 4].sum())

    @property
    def clustered(self) -> Array:
        """Return the rows, with the group in place of the device once devices were added up."""
        rows = self.rows
        if (rows[:, 4] > 1).any():
            rows[:, 1] %= GROUPS
        return rows


def _merge_rows(rows: Array) -> Array:
    """Make a row for each group of devices and each short span of versions that is near enough."""
    newest = rows[:, 0].max()
    rows = rows[rows[:, 0] + 1 >= (newest + 1) * math.exp(-LOG_VERSION_SPAN)]
    span = np.floor(np.log(rows[:, 0] + 1) * (BINS / LOG_VERSION_SPAN))
    key = np.column_stack([span, rows[:, 1] % GROUPS])
    keys, place = np.unique(key, axis=0, return_inverse=True)
    place = place.ravel()
    evaluated = rows[:, 3]
    sums = [np.bincount(place, rows[:, 0] * evaluated) / np.bincount(place, evaluated), keys[:, 1]]
    sums += [np.bincount(place, rows[:, column]) for column in (2, 3, 4)]
    return np.column_stack(sums)

"""Limit how far one gradient may move the model: about as far as others do."""

import math
from array import array
from bisect import bisect_left, insort
from collections.abc import Iterable

import numpy as np

from crowdml.types import Array

REMEMBERED_LENGTHS = 200
FEWEST_LENGTHS = 10
USUAL_QUANTILE = 0.9
LIMIT_FACTOR = 1.5


class UsualLength:
    """Shorten gradients to 1.5 times the length that nine of ten of the last 200 did not exceed.

    Most of a private gradient is noise of a known law, so honest gradients are about equally long,
    and liars gain nothing by long ones unless they send a tenth of all. The share is not a half:
    without noise and with b = 1 most gradients vanish in time, and the few that do not still teach.

    Args:
        first: The longest allowed length before ten lengths are known.
        lengths: The lengths to remember, the oldest first.

    >>> usual = UsualLength(first=2.0)
    >>> for g in (*[1.0] * 20, 5.0):
    ...     usual, shortened = usual.shorten(np.array([g]))
    >>> usual.limit, shortened
    (1.5, array([1.5]))
    """

    __slots__ = ("_first", "_lengths", "_ordered")

    def __init__(self, first: float, lengths: Iterable[float] = ()) -> None:
        self._first = first
        self._lengths = array("d", lengths)
        self._ordered = array("d", sorted(self._lengths))

    @property
    def limit(self) -> float:
        """Return the longest allowed length now."""
        known = len(self._ordered)
        if known < FEWEST_LENGTHS:
            return self._first
        return LIMIT_FACTOR * self._ordered[int(USUAL_QUANTILE * (known - 1))]

    def shorten(self, g: Array) -> tuple["UsualLength", Array]:
        """Remember the gradient's length, and shorten the gradient to the limit if it is longer."""
        length, limit = math.sqrt(g.dot(g)), self.limit
        return self._with(length), g if length <= limit else g * (limit / length)

    def _with(self, length: float) -> "UsualLength":
        """Add one more length. Copies of 200 numbers are cheap."""
        new = UsualLength.__new__(UsualLength)
        new._first, new._lengths, new._ordered = self._first, self._lengths[:], self._ordered[:]
        if len(new._lengths) == REMEMBERED_LENGTHS:
            del new._ordered[bisect_left(new._ordered, new._lengths.pop(0))]
        new._lengths.append(length)
        insort(new._ordered, length)
        return new

    def to_array(self) -> Array:
        return np.array(self._lengths, dtype=np.float64)

    def with_lengths(self, lengths: Array) -> "UsualLength":
        """Make the same rule with these remembered lengths."""
        return UsualLength(self._first, lengths.tolist())

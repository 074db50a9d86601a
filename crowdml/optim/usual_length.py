"""How far one gradient may move the model: about as far as others do."""

import math
from bisect import bisect_left, insort
from collections import deque

import numpy as np

from crowdml.types import Array

__all__ = ["UsualLength"]

REMEMBERED = 200
FEWEST = 10
USUAL = 0.9
FACTOR = 1.5


class UsualLength:
    """No gradient is longer than 1.5 times what nine of ten of the last 200 were.

    Most of a private gradient is noise of a known law, so that honest ones are about equally long,
    and those who lie gain nothing by long ones, unless they send a tenth of all. The share is not a
    half, since where there is no noise and b = 1 most gradients vanish in time, and the few that
    do not are those that still teach.

    Args:
        first: The most, before ten are known.

    >>> usual = UsualLength(first=2.0)
    >>> [float(usual.shortened(np.array([g]))[0]) for g in (5.0, *[1.0] * 20, 5.0, 1.4)][-2:]
    [1.5, 1.4]
    """

    def __init__(self, first: float) -> None:
        self._first = first
        self._lengths: deque[float] = deque()
        self._sorted: list[float] = []

    @property
    def limit(self) -> float:
        known = len(self._sorted)
        return self._first if known < FEWEST else FACTOR * self._sorted[int(USUAL * (known - 1))]

    def shortened(self, g: Array) -> Array:
        """The gradient, or its direction with the most length that is allowed."""
        length, limit = math.sqrt(g.dot(g)), self.limit
        self._remember(length)
        return g if length <= limit else g * (limit / length)

    def _remember(self, length: float) -> None:
        self._lengths.append(length)
        insort(self._sorted, length)
        if len(self._lengths) > REMEMBERED:
            del self._sorted[bisect_left(self._sorted, self._lengths.popleft())]

    def to_array(self) -> Array:
        return np.array(self._lengths, dtype=np.float64)

    def restore(self, lengths: Array) -> None:
        self._lengths = deque(lengths.tolist())
        self._sorted = sorted(self._lengths)

"""The last few error counts, with their sum kept rather than recomputed."""

from collections import deque

import numpy as np

from crowdml.types import Array

__all__ = ["Window"]


class Window:
    """Pairs (n̂_e, samples behind it) of the newest check-ins that evaluate.

    >>> window = Window(length=2)
    >>> for errors in (5, 1, 2):
    ...     window.add(errors, 10)
    >>> len(window), window.sum
    (2, (3.0, 20))
    """

    def __init__(self, length: int) -> None:
        self._pairs: deque[tuple[float, int]] = deque()
        self._length = length
        self._errors = 0.0
        self._evaluated = 0

    def __len__(self) -> int:
        return len(self._pairs)

    @property
    def sum(self) -> tuple[float, int]:
        return self._errors, self._evaluated

    def add(self, errors: float, evaluated: int) -> None:
        self._pairs.append((errors, evaluated))
        self._errors += errors
        self._evaluated += evaluated
        if len(self._pairs) > self._length:
            errors, evaluated = self._pairs.popleft()
            self._errors -= errors
            self._evaluated -= evaluated

    def to_array(self) -> Array:
        """The pairs, and first of all their sum as it came about, with its rounding."""
        return np.array([self.sum, *self._pairs], dtype=np.float64)

    @classmethod
    def from_array(cls, length: int, pairs: Array) -> "Window":
        window = cls(length)
        (window._errors, evaluated), *kept = pairs.tolist()
        window._evaluated = int(evaluated)
        window._pairs.extend((errors, int(n)) for errors, n in kept)
        return window

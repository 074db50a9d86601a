"""The last few check-ins' error counts, with their sum kept rather than recomputed."""

from collections import deque

import numpy as np

from crowdml.types import Ints

__all__ = ["Window"]


class Window:
    """Pairs (n̂_e, samples behind it) of the newest check-ins.

    >>> window = Window(length=2)
    >>> for errors in (5, 1, 2):
    ...     window.add(errors, 10)
    >>> len(window), window.sum
    (2, (3, 20))
    """

    def __init__(self, length: int) -> None:
        self._pairs: deque[tuple[int, int]] = deque()
        self._length = length
        self._errors = 0
        self._evaluated = 0

    def __len__(self) -> int:
        return len(self._pairs)

    @property
    def sum(self) -> tuple[int, int]:
        return self._errors, self._evaluated

    def add(self, errors: int, evaluated: int) -> None:
        self._pairs.append((errors, evaluated))
        self._errors += errors
        self._evaluated += evaluated
        if len(self._pairs) > self._length:
            errors, evaluated = self._pairs.popleft()
            self._errors -= errors
            self._evaluated -= evaluated

    def to_array(self) -> Ints:
        return np.array(self._pairs, dtype=np.int64).reshape(-1, 2)

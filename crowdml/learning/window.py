"""The last few error counts, with their sum kept rather than recomputed."""

import numpy as np

from crowdml.types import Array

__all__ = ["Window"]

NOTHING = (0.0, 0)


class Window:
    """Pairs (n̂_e, samples behind it) of the newest check-ins that evaluate, as a value.

    Windows that follow each other share one growing list, and each reads only its own part of it.

    Args:
        length: The most pairs that are kept.
        pairs: A list whose first `end` pairs end with those of the window.
        end: Where the window ends in the list.
        sum: Σn̂_e and the samples behind it, over the pairs that are kept.

    >>> window = Window(length=2)
    >>> for errors in (5, 1, 2):
    ...     window = window.with_pair(errors, 10)
    >>> len(window), window.sum
    (2, (3.0, 20))
    """

    __slots__ = ("_end", "_pairs", "length", "sum")

    def __init__(
        self,
        length: int,
        pairs: list[tuple[float, int]] | None = None,
        end: int = 0,
        sum: tuple[float, int] = NOTHING,
    ) -> None:
        self.length = length
        self.sum = sum
        self._pairs = [] if pairs is None else pairs
        self._end = end

    def __len__(self) -> int:
        return min(self._end, self.length)

    def with_pair(self, errors: float, evaluated: int) -> "Window":
        """Add the newest pair, and drop the oldest one if the window is full."""
        pairs, end, length = self._pairs, self._end, self.length
        if end != len(pairs) or end >= 2 * length:
            # Another window went on from here, or most of the list is no longer needed.
            pairs = self._kept()
            end = len(pairs)
        old_errors, old_evaluated = pairs[end - length] if end >= length else NOTHING
        pairs.append((errors, evaluated))
        total = (self.sum[0] + errors - old_errors, self.sum[1] + evaluated - old_evaluated)
        return Window(length, pairs, end + 1, total)

    def _kept(self) -> list[tuple[float, int]]:
        return self._pairs[self._end - len(self) : self._end]

    def to_array(self) -> Array:
        """The sum as it came about, with its rounding, and then the pairs, the oldest first."""
        return np.array([self.sum, *self._kept()], dtype=np.float64)

    @classmethod
    def from_array(cls, length: int, pairs: Array) -> "Window":
        total, *kept = [(errors, int(evaluated)) for errors, evaluated in pairs.tolist()]
        return cls(length, kept, len(kept), total)

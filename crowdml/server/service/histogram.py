"""Keep a histogram in the form of Prometheus."""

from bisect import bisect_left
from collections.abc import Iterator, Sequence


class Histogram:
    """Count how many values are at most each bound.

    >>> seconds = Histogram([0.1, 1])
    >>> for value in (0.05, 0.1, 3):
    ...     seconds.observe(value)
    >>> list(seconds.values())
    [('_bucket', '0.1', 2), ('_bucket', '1', 2), ('_bucket', '+Inf', 3), ('_sum', '', 3.15), \
('_count', '', 3)]
    """

    def __init__(self, bounds: Sequence[float]) -> None:
        self._bounds = bounds
        self._counts = [0] * (len(bounds) + 1)
        self._sum = 0.0

    def observe(self, value: float) -> None:
        self._counts[bisect_left(self._bounds, value)] += 1
        self._sum += value

    def values(self) -> Iterator[tuple[str, str, float]]:
        """List the end of each value's name, the bound of its bucket if any, and the value."""
        total = 0
        for bound, count in zip([*self._bounds, None], self._counts, strict=True):
            total += count
            yield "_bucket", "+Inf" if bound is None else f"{bound:g}", total
        yield "_sum", "", self._sum
        yield "_count", "", total

"""Provide randomness from a seeded generator: fast and repeatable, for tests only."""

import math
from functools import cache

import numpy as np

from crowdml.types import Array, Ints


class SeededChance:
    """Implement `Chance` with laws that are exact, except for the generator behind them."""

    def __init__(self, seed: int = 21) -> None:
        self.rng = np.random.default_rng(seed)

    def add_laplace(self, values: Ints, scale: float) -> Ints:
        return values + self.laplace(values.shape, scale)

    def add_gaussian(self, values: Ints, scale: float) -> Ints:
        return values + self.gaussian(values.shape, scale)

    def laplace(self, shape: tuple[int, ...], scale: float) -> Ints:
        """Draw the difference of two geometric numbers."""
        stop = -math.expm1(-1.0 / scale)
        first, second = self.rng.geometric(stop, size=(2, *shape))
        return np.asarray(first - second, dtype=np.int64)

    def gaussian(self, shape: tuple[int, ...], scale: float) -> Ints:
        """Draw from a table, or round a normal number where the steps are too small to matter."""
        if scale > 300:
            return np.rint(self.rng.normal(scale=scale, size=shape)).astype(np.int64)
        first, law = _table(scale)
        return first + np.searchsorted(law, self.rng.random(shape)).astype(np.int64)

    def below(self, n: int) -> int:
        return int(self.rng.integers(n, dtype=np.uint64 if n > 2**63 else np.int64))

    def random_id(self) -> str:
        return self.rng.bytes(11).hex()


@cache
def _table(scale: float) -> tuple[int, Array]:
    """Return the first value of the table, and the distribution function from there."""
    last = math.ceil(12 * scale)
    weights = np.exp(-((np.arange(-last, last + 1) / scale) ** 2) / 2)
    return -last, np.cumsum(weights) / weights.sum()

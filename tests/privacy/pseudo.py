"""Chance from a seeded generator: quick and the same every time, for tests only."""

import math

import numpy as np

from crowdml.types import Ints


class Pseudo:
    """A `Chance` whose laws are exact but for the generator behind them."""

    def __init__(self, seed: int = 21) -> None:
        self.rng = np.random.default_rng(seed)

    def add_laplace(self, values: Ints, scale: float) -> Ints:
        return values + self.laplace(values.shape, scale)

    def add_gaussian(self, values: Ints, scale: float) -> Ints:
        return values + self.gaussian(values.shape, scale)

    def laplace(self, shape: tuple[int, ...], scale: float) -> Ints:
        """The difference of two geometric numbers."""
        stop = -math.expm1(-1.0 / scale)
        first, second = self.rng.geometric(stop, size=(2, *shape))
        return np.asarray(first - second, dtype=np.int64)

    def gaussian(self, shape: tuple[int, ...], scale: float) -> Ints:
        """From a table; a rounded normal number where steps are too small to tell them apart."""
        if scale > 300:
            return np.rint(self.rng.normal(scale=scale, size=shape)).astype(np.int64)
        last = math.ceil(12 * scale)
        z = np.arange(-last, last + 1)
        weights = np.exp(-((z / scale) ** 2) / 2)
        return self.rng.choice(z, size=shape, p=weights / weights.sum())

    def below(self, n: int) -> int:
        return int(self.rng.integers(n, dtype=np.uint64 if n > 2**63 else np.int64))

    def token(self) -> str:
        return self.rng.bytes(11).hex()

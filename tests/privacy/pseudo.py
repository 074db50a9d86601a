"""The law of the noise from a seeded generator: quick and the same every time, for tests only."""

import math

import numpy as np

from crowdml.types import Ints


class Pseudo:
    """Discrete Laplace from a seeded generator, as the difference of two geometric numbers."""

    def __init__(self) -> None:
        self.rng = np.random.default_rng(21)

    def add_laplace(self, values: Ints, scale: float) -> Ints:
        return values + self.draw(values.shape, scale)

    def draw(self, shape: tuple[int, ...], scale: float) -> Ints:
        stop = -math.expm1(-1.0 / scale)
        first, second = self.rng.geometric(stop, size=(2, *shape))
        return np.asarray(first - second, dtype=np.int64)

"""Define the laws of noise: scale for a level of privacy, variance, tail."""

import math
from typing import Protocol

import numpy as np

from crowdml.privacy.noise_source import NoiseSource, certified_scale
from crowdml.types import Array, Ints


class Law(Protocol):
    """Describe a law of integer noise.

    The level is ε for Laplace noise and ρ for Gaussian noise; the sensitivity is measured in the
    law's own norm.
    """

    name: str
    norm: int
    pure: bool
    """Whether the law costs a pure ε; otherwise a ρ, which is shown as ε at some δ."""

    def rounding(self, size: int) -> int:
        """Return how far rounding can move `size` numbers, in steps and in this norm."""

    def two_bins(self) -> float:
        """Return the distance, in this norm, when two counts move by one each."""

    def strength(self, level: float) -> float:
        """Return sensitivity/scale at this level."""

    def variance(self, scale: float) -> float: ...

    def tail(self, scale: float, probability: float) -> int:
        """Return a k with P(|z| > k) ≤ probability."""

    def excess(self, scale: float, k: float) -> tuple[float, float]:
        """Compute the means of max(z − k, 0) and of its square, k ≥ 0."""

    def add(self, values: Ints, sensitivity: float, level: float, noise: NoiseSource) -> Ints:
        """Add noise at a scale that is certified to cost at most this level."""

    def outline(self, z: Array) -> Array:
        """Return P(z)/P(0) at scale 1."""

    def simulate(self, n: int, scale: float, rng: np.random.Generator) -> Array:
        """Draw real numbers of this law, for simulations only: they protect nobody's samples."""


class Laplace:
    """Describe the law P(z) ∝ exp(−|z|/s), s = sensitivity/ε, for L1."""

    name = "laplace"
    norm = 1
    pure = True

    def rounding(self, size: int) -> int:
        return size

    def two_bins(self) -> float:
        return 2

    def strength(self, level: float) -> float:
        return level

    def variance(self, scale: float) -> float:
        """Compute 2e^{−1/s}/(1 − e^{−1/s})². Paper: Appendix, Remark 2.

        >>> round(LAPLACE.variance(scale=10.0), 2)      # close to the continuous 2·10²
        199.83
        """
        p = math.exp(-1.0 / scale)
        return 2.0 * p / (1.0 - p) ** 2

    def tail(self, scale: float, probability: float) -> int:
        """Return the least k, from P(|z| > k) = 2e^{−(k+1)/s}/(1 + e^{−1/s}).

        >>> LAPLACE.tail(scale=1.0, probability=0.01)
        4
        """
        k = scale * math.log(2.0 / (probability * (1.0 + math.exp(-1.0 / scale)))) - 1.0
        return max(0, math.ceil(k))

    def excess(self, scale: float, k: float) -> tuple[float, float]:
        """Compute p^{k+1}/(1 − p²) and p^{k+1}/(1 − p)², p = e^{−1/s}.

        >>> LAPLACE.excess(scale=10.0, k=0)             # half of the mean of |z|, and of z²
        (4.99167..., 99.9167...)
        """
        p = math.exp(-1.0 / scale)
        tail = math.exp(-(k + 1.0) / scale)
        return tail / (1.0 - p * p), tail / (1.0 - p) ** 2

    def add(self, values: Ints, sensitivity: float, level: float, noise: NoiseSource) -> Ints:
        start = sensitivity / self.strength(level)
        return noise.add_laplace(values, certified_scale(self.name, sensitivity, level, start))

    def outline(self, z: Array) -> Array:
        height: Array = np.exp(-np.abs(z))
        return height

    def simulate(self, n: int, scale: float, rng: np.random.Generator) -> Array:
        return rng.laplace(0.0, scale, n)


class Gaussian:
    """Describe the law P(z) ∝ exp(−z²/(2s²)), s = sensitivity/√(2ρ), for L2."""

    name = "gaussian"
    norm = 2
    pure = False

    def rounding(self, size: int) -> int:
        return math.isqrt(size - 1) + 1

    def two_bins(self) -> float:
        return math.nextafter(math.sqrt(2), 2)

    def strength(self, level: float) -> float:
        return math.sqrt(2 * level)

    def variance(self, scale: float) -> float:
        """Return s², or below s = 3, where the variance is smaller, the sum by definition.

        Reference: Canonne, Kamath, Steinke 2020, Corollary 9.

        >>> GAUSSIAN.variance(scale=10.0), round(GAUSSIAN.variance(scale=0.4), 3)
        (100.0, 0.081)
        """
        if scale > 3:
            return scale * scale
        weights = [math.exp(-((z / scale) ** 2) / 2) for z in range(40)]
        squares = math.fsum(z * z * weight for z, weight in enumerate(weights))
        return 2 * squares / (2 * math.fsum(weights) - 1)

    def tail(self, scale: float, probability: float) -> int:
        """Return k from P(|z| ≥ k) ≤ 2e^{−k²/(2s²)}. Reference: see `variance`, Corollary 9."""
        return math.ceil(scale * math.sqrt(2 * math.log(2 / probability)))

    def excess(self, scale: float, k: float) -> tuple[float, float]:
        """Sum by definition, or use the continuous normal law where the scale is many steps.

        >>> GAUSSIAN.excess(scale=200.0, k=0)[1], round(GAUSSIAN.excess(scale=0.4, k=0)[1], 4)
        (20000.0, 0.0404)
        """
        if scale > 100:
            above = math.erfc(k / scale / math.sqrt(2)) / 2
            density = math.exp(-((k / scale) ** 2) / 2) / math.sqrt(2 * math.pi)
            mean = scale * density - k * above
            return mean, (scale**2 + k**2) * above - k * scale * density
        weights = [math.exp(-((z / scale) ** 2) / 2) for z in range(math.ceil(10 * scale) + 2)]
        total = 2 * math.fsum(weights) - 1
        beyond = [(max(z - k, 0.0), weight / total) for z, weight in enumerate(weights)]
        mean = math.fsum(d * p for d, p in beyond)
        return mean, math.fsum(d * d * p for d, p in beyond)

    def add(self, values: Ints, sensitivity: float, level: float, noise: NoiseSource) -> Ints:
        start = sensitivity / self.strength(level)
        return noise.add_gaussian(values, certified_scale(self.name, sensitivity, level, start))

    def outline(self, z: Array) -> Array:
        height: Array = np.exp(-z * z / 2)
        return height

    def simulate(self, n: int, scale: float, rng: np.random.Generator) -> Array:
        return rng.normal(0.0, scale, n)


LAPLACE: Law = Laplace()
GAUSSIAN: Law = Gaussian()

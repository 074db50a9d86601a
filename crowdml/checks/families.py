"""Define the laws of integer noise, P(z) ∝ e^(−h·|z|^r), to compare draws with."""

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from crowdml.types import Array, Ints

SMOOTH = 300.0
"""From this scale on, a Gaussian law in whole steps is the normal law to seven digits."""


@dataclass(frozen=True)
class Family:
    """Hold all laws P(z) ∝ e^(−h·|z|^r) for one power r: Laplace's for 1, Gauss's for 2."""

    name: str
    power: int

    def rate(self, scale: float) -> float:
        """Return h: 1/s, or 1/(2s²)."""
        return 1.0 / scale if self.power == 1 else 0.5 / scale**2

    def log_total(self, h: float) -> float:
        """Compute log Σ e^(−h·|z|^r)."""
        if self.power == 1:
            return -math.log(math.tanh(h / 2))
        if h < 0.1:  # By Poisson's summation; the omitted terms are below e^(−π²/h).
            return math.log(math.pi / h) / 2
        return math.log(1 + 2 * math.fsum(math.exp(-h * z * z) for z in range(1, 40)))

    def mean_size(self, h: float) -> float:
        """Compute E|z|^r."""
        if self.power == 1:
            return 1 / math.sinh(h) if h < 700 else 0.0
        if h < 0.1:
            return 0.5 / h
        squares = math.fsum(z * z * math.exp(-h * z * z) for z in range(1, 40))
        return 2 * squares / math.exp(self.log_total(h))

    def even(self, scale: float) -> float:
        """Compute the probability of an even number: |2z|^r is 2^r·|z|^r."""
        h = self.rate(scale)
        return math.exp(self.log_total(2**self.power * h) - self.log_total(h))

    def at_most(self, edges: Ints, scale: float) -> Array:
        """Compute P(z ≤ edge)."""
        if self.power == 1:
            beyond = np.exp(-np.where(edges < 0, -edges, edges + 1) / scale)
            beyond /= 1 + math.exp(-1 / scale)
            return np.where(edges < 0, beyond, 1 - beyond)
        if scale > SMOOTH:
            return np.array([NormalDist(0, scale).cdf(edge + 0.5) for edge in edges.tolist()])
        last = math.ceil(12 * scale) + 1
        z = np.arange(-last, last + 1)
        weights = np.exp(-self.rate(scale) * z * z - self.log_total(self.rate(scale)))
        below: Array = np.cumsum(weights)[np.clip(edges + last, 0, 2 * last)]
        return below

    def edges(self, scale: float, cells: int) -> Ints:
        """Return the upper ends of cells of about equal probability; the last cell has none."""
        shares = np.arange(1, cells) / cells
        if self.power == 1:
            size = -scale * np.log(2 * np.minimum(shares, 1 - shares))
            z = np.where(shares < 0.5, -size, size)
        else:
            z = np.array([NormalDist(0, scale).inv_cdf(share) for share in shares])
        return np.unique(np.rint(z).astype(np.int64))


FAMILIES = (Family("laplace", 1), Family("gaussian", 2))

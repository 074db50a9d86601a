"""Concentrated differential privacy: ρ adds up over releases; people are told (ε, δ)."""

import math
from functools import lru_cache

__all__ = ["epsilon_of", "rho_of"]


@lru_cache(maxsize=256)
def epsilon_of(rho: float, delta: float) -> float:
    """The smallest ε with which ρ-zCDP is (ε, δ)-differentially private.

    ε = min over α > 1 of αρ + (log(1/δ) + α·log(1 − 1/α) − log(α − 1))/(α − 1).

    Reference: Canonne, Kamath, Steinke, The Discrete Gaussian for Differential Privacy, 2020,
    Proposition 12.

    >>> round(epsilon_of(rho=0.1, delta=1e-6), 3)
    2.142
    """
    if rho == 0:
        return 0.0

    def bound(log_step: float) -> float:
        step = math.exp(log_step)
        saved = (1 + step) * math.log1p(-1 / (1 + step)) - log_step
        return (1 + step) * rho + (saved - math.log(delta)) / step

    # The bound falls, then rises; a golden section finds where it turns.
    low, high = -20.0, 25.0
    golden = (math.sqrt(5) - 1) / 2
    for _ in range(120):
        left, right = high - golden * (high - low), low + golden * (high - low)
        if bound(left) < bound(right):
            high = right
        else:
            low = left
    return max(0.0, bound((low + high) / 2))


@lru_cache(maxsize=256)
def rho_of(epsilon: float, delta: float) -> float:
    """The largest ρ that costs at most ε at this δ.

    >>> round(rho_of(epsilon=1.0, delta=1e-6), 4)
    0.0244
    """
    low, high = 0.0, epsilon
    for _ in range(200):
        middle = (low + high) / 2
        if epsilon_of(middle, delta) <= epsilon:
            low = middle
        else:
            high = middle
    return low

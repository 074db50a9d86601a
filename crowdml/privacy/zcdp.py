"""Concentrated differential privacy: ρ adds up over releases; people are told (ε, δ)."""

import math
from functools import lru_cache
from statistics import NormalDist


@lru_cache(maxsize=256)
def epsilon_of(rho: float, delta: float) -> float:
    """An ε with which every mechanism that is ρ-zCDP is (ε, δ)-differentially private.

    ε = min over α > 1 of αρ + (log(1/δ) + α·log(1 − 1/α) − log(α − 1))/(α − 1).

    Reference: Canonne, Kamath, Steinke, The Discrete Gaussian for Differential Privacy, 2020,
    Proposition 12. It is valid for every law of noise, counts in whole steps included. For Gaussian
    noise alone the exact ε is smaller: at δ = 10⁻⁶ this one is 6 to 8 % above it for ε from 0.5 to
    20, and 9 % at 0.1 (experiments/figures/README.md).

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
    """The largest ρ for which `epsilon_of` is at most ε at this δ.

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


@lru_cache(maxsize=256)
def loss_bound(rho: float, delta: float) -> float:
    """How large log P/P′ becomes with Gaussian noise of ρ, but for a chance of δ.

    ρ + √(2ρ)·Φ⁻¹(1 − δ/2). P and P′ are the probabilities of what is sent, with the true sample and
    with another. (ε, δ) does not say this: log P/P′ passes ε more often than with a chance of δ.

    One check-in: log P/P′ is normal with mean ρ and variance 2ρ, or less if the samples are less
    far apart. So it passes the bound with a chance of δ/2, and the bound below 0 more rarely.
    Many check-ins: a server may choose each w by what it heard before, and so stop when it is
    lucky. log P/P′ is then a Brownian motion with drift that is stopped at a total of at most ρ,
    and the chance that it ever passes the bound is at most twice the chance at its end, which is δ
    (reflection principle).

    >>> round(loss_bound(rho_of(1.0, 1e-6), 1e-6), 3)
    1.104
    """
    return rho - math.sqrt(2 * rho) * NormalDist().inv_cdf(delta / 2)

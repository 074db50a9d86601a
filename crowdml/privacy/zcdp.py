"""Convert concentrated differential privacy, whose ρ adds up over releases, to (ε, δ)."""

import math
from functools import lru_cache
from statistics import NormalDist


@lru_cache(maxsize=256)
def epsilon_of(rho: float, delta: float) -> float:
    """Return an ε with which every ρ-zCDP mechanism is (ε, δ)-differentially private.

    ε = min over α > 1 of αρ + (log(1/δ) + α·log(1 − 1/α) − log(α − 1))/(α − 1).

    Reference: Canonne, Kamath, Steinke, The Discrete Gaussian for Differential Privacy, 2020,
    Proposition 12. This ε is valid for every law of noise, including counts in whole steps. For
    Gaussian noise alone the exact ε is smaller: at δ = 10⁻⁶ this ε is 6 to 8 % above the exact ε
    for values from 0.5 to 20, and 9 % at 0.1 (experiments/figures/README.md).

    >>> round(epsilon_of(rho=0.1, delta=1e-6), 3)
    2.142
    """
    if rho == 0:
        return 0.0

    def bound(log_step: float) -> float:
        step = math.exp(log_step)
        saved = (1 + step) * math.log1p(-1 / (1 + step)) - log_step
        return (1 + step) * rho + (saved - math.log(delta)) / step

    # The bound falls, then rises; a golden-section search finds its minimum.
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
    """Return the largest ρ for which `epsilon_of` is at most ε at this δ.

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
    """Bound log P/P′ for Gaussian noise of ρ: it exceeds the bound with probability at most δ.

    The bound is ρ + √(2ρ)·Φ⁻¹(1 − δ/2). P and P′ are the probabilities of what is sent, with the
    true sample and with another sample. (ε, δ) does not give this bound: log P/P′ exceeds ε with a
    probability above δ. The bound is for certainty about the true value. Counts are whole numbers;
    where they have more than 0.75 of ρ, the probability is up to 10·δ.

    One check-in: log P/P′ is normal with mean ρ and variance 2ρ, or smaller if the samples differ
    less. So it exceeds the bound with probability δ/2, and its negative even more rarely.
    Many check-ins: a server may choose each w by what it received before, and stop when it is
    lucky. log P/P′ is then a Brownian motion with drift that is stopped at a total of at most ρ.
    The probability that it ever exceeds the bound is at most twice the probability at its end,
    which gives δ (reflection principle).

    >>> round(loss_bound(rho_of(1.0, 1e-6), 1e-6), 3)
    1.104
    """
    return rho - math.sqrt(2 * rho) * NormalDist().inv_cdf(delta / 2)


MANY_COUNTS, MORE_OFTEN = 0.75, 10.0
"""Where counts have more than this share of ρ, `loss_bound` may be passed ten times as often."""


def excess_probability(delta: float, counts_share: float) -> float:
    """Return the probability that log P/P′ exceeds `loss_bound`, at most.

    Counts are whole numbers, and the bound is for normal laws. This is computed for ε up to 20 and
    for every δ that a task may have (experiments/figures/certainty.py).

    Args:
        counts_share: The share of ρ that counts have.

    >>> excess_probability(0.001, 0.1), excess_probability(0.001, 1.0)
    (0.001, 0.01)
    """
    return delta * MORE_OFTEN if counts_share > MANY_COUNTS else delta

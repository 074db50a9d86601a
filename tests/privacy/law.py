"""Define the discrete laws directly: P(z) ∝ e^(−|z|/s) and P(z) ∝ e^(−z²/2s²)."""

import math
from functools import lru_cache


def log_probability(z: int, scale: float) -> float:
    """Return log P(z) of Laplace's law: P(z) = (1−p)/(1+p)·p^|z| with p = e^(−1/s)."""
    return math.log(math.tanh(0.5 / scale)) - abs(z) / scale


def probability(z: int, scale: float, norm: int = 1) -> float:
    """Return P(z) of Laplace's law for the norm 1, and of Gauss's law for the norm 2."""
    if norm == 1:
        return math.exp(log_probability(z, scale))
    return math.exp(gaussian_log_probability(z, scale))


def gaussian_log_probability(z: int, scale: float) -> float:
    return -((z / scale) ** 2) / 2 - math.log(_gaussian_total(scale))


@lru_cache
def _gaussian_total(scale: float) -> float:
    last = math.ceil(40 * scale) + 1
    return 2.0 * math.fsum(math.exp(-((z / scale) ** 2) / 2) for z in range(last, 0, -1)) + 1.0


def tail(k: int, scale: float, norm: int = 1) -> float:
    """Return P(|z| > k), summed term by term from the smallest."""
    last = k + 1 + math.ceil(60 * scale)
    return 2.0 * math.fsum(probability(z, scale, norm) for z in range(last, k, -1))


def variance(scale: float, norm: int) -> float:
    last = math.ceil(60 * scale) + 2
    return 2.0 * math.fsum(z * z * probability(z, scale, norm) for z in range(last, 0, -1))


def worst_log_ratio(u: list[int], v: list[int], scale: float) -> float:
    """Return the largest log P(o | u)/P(o | v) over all outputs o, with Laplace's law.

    Coordinates are independent. For one coordinate the ratio is constant outside the interval from
    u to v and monotone inside, so its ends and one point beyond each are enough.
    """
    return math.fsum(
        max(
            log_probability(o - a, scale) - log_probability(o - b, scale)
            for o in (min(a, b) - 1, min(a, b), (a + b) // 2, max(a, b), max(a, b) + 1)
        )
        for a, b in zip(u, v, strict=True)
    )


def concentrated(u: list[int], v: list[int], scale: float) -> float:
    """Return the ρ that Gauss's law costs: the largest D_α/α, which is Σ(u − v)²/(2s²) for every α.

    Reference: Canonne, Kamath, Steinke 2020, Proposition 5.
    """
    return math.fsum((a - b) ** 2 for a, b in zip(u, v, strict=True)) / (2 * scale**2)

"""The discrete Laplace law by its definition, P(z) = (1−p)/(1+p)·p^|z| with p = e^(−1/s)."""

import math


def log_probability(z: int, scale: float) -> float:
    return math.log(math.tanh(0.5 / scale)) - abs(z) / scale


def probability(z: int, scale: float) -> float:
    return math.exp(log_probability(z, scale))


def tail(k: int, scale: float) -> float:
    """P(|z| > k), summed term by term from the smallest."""
    last = k + 1 + math.ceil(60 * scale)
    return 2.0 * math.fsum(probability(z, scale) for z in range(last, k, -1))


def worst_log_ratio(u: list[int], v: list[int], scale: float) -> float:
    """The largest log P(o | u)/P(o | v) over all outputs o.

    Coordinates are independent. For one of them the ratio is constant outside the interval from
    u to v and monotone inside, so its ends and one point beyond each are enough.
    """
    return math.fsum(
        max(
            log_probability(o - a, scale) - log_probability(o - b, scale)
            for o in (min(a, b) - 1, min(a, b), (a + b) // 2, max(a, b), max(a, b) + 1)
        )
        for a, b in zip(u, v, strict=True)
    )

"""Shrink the gradient of each sample, which bounds how far one sample can move the average."""

import numpy as np

from crowdml.types import Array


def margin(n: int) -> float:
    """Return the share of the bound S that clipping leaves free for the rounding of 64-bit floats.

    max(2⁻³⁰, n²·2⁻⁵²), for an average of n gradients. With it, averages as they are computed move
    by at most 2S/n when one gradient is replaced, in L1 and in L2, for d ≤ 10⁶ and n ≤ 10⁶.

    Proof, with u = 2⁻⁵³: a computed norm of d numbers is off by a relative 2du, so ‖g_i‖ ≤
    S(1 − margin)(1 + 2du). However n products are added up and divided by n, each number of the
    average is off by at most (n + 4)u times the average of its sizes, and the length of the vector
    of these errors is at most (n + 4)uS. Two averages then differ by at most
    2S/n·((1 − margin)(1 + 2du) + n(n + 4)u), which is at most 2S/n if margin ≥ (n² + 4n + 2d)u. For
    n ≤ 2,048 the right side is at most 2²³u = 2⁻³⁰, and beyond it is at most 2n²u.

    >>> margin(2000) == 2.0**-30, round(margin(10**6), 6)
    (True, 0.000222)
    """
    return max(2.0**-30, n * n * 2.0**-52)


def clip_factors(norms: Array, clip: float) -> Array:
    """Return the factor min(1, S/‖g_i‖) for each sample.

    >>> clip_factors(np.array([0.5, 4.0]), clip=2.0).round(6)
    array([1. , 0.5])
    """
    if np.isinf(clip):
        return np.ones_like(norms)
    target = clip * (1.0 - margin(len(norms)))
    factors: Array = target / np.maximum(norms, target)
    return factors


def clipped_mean(gradients: Array, clip: float, norm: int = 1) -> Array:
    """Average the rows after shrinking each row to a norm (1 or 2) of at most `clip`.

    This version works for any model. A model whose gradient has structure may compute the same
    average faster.

    >>> clipped_mean(np.array([[3.0, -1.0], [0.0, 1.0]]), clip=2.0).round(6)
    array([0.75, 0.25])
    """
    factors = clip_factors(np.linalg.norm(gradients, norm, axis=1), clip)
    mean: Array = (factors[:, None] * gradients).mean(axis=0)
    return mean

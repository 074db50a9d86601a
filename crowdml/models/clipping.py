"""Shrinking per-sample gradients, so that one sample can only move the average so far."""

import numpy as np

from crowdml.types import Array

__all__ = ["clip_factors", "clipped_mean"]

MARGIN = 2.0**-30
"""Kept free below the bound S, so that rounding in 64-bit floats can never pass it.

With n samples and d parameters, computed norms and sums are off by a relative (n + d)·2⁻⁵² at
most, far below 2⁻³⁰ for every minibatch that fits a device. The proof can then use S itself.
"""


def clip_factors(l1_norms: Array, clip: float) -> Array:
    """The factor min(1, S/‖g_i‖₁) for each sample.

    >>> clip_factors(np.array([0.5, 4.0]), clip=2.0).round(6)
    array([1. , 0.5])
    """
    target = clip * (1.0 - MARGIN)
    return np.minimum(1.0, target / np.maximum(l1_norms, np.finfo(float).tiny))


def clipped_mean(gradients: Array, clip: float) -> Array:
    """The average over rows after shrinking each row to an L1 norm of at most `clip`.

    This is the obvious version, for any model; a model whose gradient has structure may
    compute the same faster.

    >>> clipped_mean(np.array([[3.0, -1.0], [0.0, 1.0]]), clip=2.0).round(6)
    array([0.75, 0.25])
    """
    factors = clip_factors(np.abs(gradients).sum(axis=1), clip)
    mean: Array = (factors[:, None] * gradients).mean(axis=0)
    return mean

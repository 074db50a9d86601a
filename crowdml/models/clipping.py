"""Shrinking per-sample gradients, so that one sample can only move the average so far."""

import numpy as np

from crowdml.types import Array

__all__ = ["clip_factors", "clipped_mean"]

MARGIN = 2.0**-30
"""Kept free below the bound S, so that a norm computed in 64-bit floats cannot pass it.

A computed norm of d numbers is off by a relative d·2⁻⁵² at most. Rounding in the average itself
is covered elsewhere: see `sensitivity_steps`.
"""


def clip_factors(norms: Array, clip: float) -> Array:
    """The factor min(1, S/‖g_i‖) for each sample.

    >>> clip_factors(np.array([0.5, 4.0]), clip=2.0).round(6)
    array([1. , 0.5])
    """
    if np.isinf(clip):
        return np.ones_like(norms)
    target = clip * (1.0 - MARGIN)
    factors: Array = target / np.maximum(norms, target)
    return factors


def clipped_mean(gradients: Array, clip: float, norm: int = 1) -> Array:
    """The average over rows after shrinking each row to a norm (1 or 2) of at most `clip`.

    This is the obvious version, for any model; a model whose gradient has structure may
    compute the same faster.

    >>> clipped_mean(np.array([[3.0, -1.0], [0.0, 1.0]]), clip=2.0).round(6)
    array([0.75, 0.25])
    """
    factors = clip_factors(np.linalg.norm(gradients, norm, axis=1), clip)
    mean: Array = (factors[:, None] * gradients).mean(axis=0)
    return mean

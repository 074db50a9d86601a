"""Features into the ball ‖x‖₁ ≤ 1 that the gradients' bounds rest on."""

import numpy as np

from crowdml.types import Array

__all__ = ["CLIP", "l1_normalized", "standardized"]

CLIP = 6.0
"""Standard deviations beyond which a feature is cut off."""


def l1_normalized(x: Array) -> Array:
    """Each row over its L1 norm; a row of zeros stays.

    >>> l1_normalized(np.array([[1.0, -3.0], [0.0, 0.0]])).tolist()
    [[0.25, -0.75], [0.0, 0.0]]
    """
    norms = np.abs(x).sum(axis=1, keepdims=True)
    unit: Array = x / np.where(norms > 0, norms, 1.0)
    return unit


def standardized(x: Array, reference: Array) -> Array:
    """(x - mean)/deviation, by the reference's columns; a constant column only loses its mean.

    >>> standardized(np.array([[5.0, 2.0]]), np.array([[1.0, 2.0], [3.0, 2.0]])).tolist()
    [[3.0, 0.0]]
    """
    deviation = reference.std(axis=0)
    scaled: Array = (x - reference.mean(axis=0)) / np.where(deviation > 0, deviation, 1.0)
    return scaled

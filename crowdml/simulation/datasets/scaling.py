"""Standardise columns by constants that are fixed beforehand."""

import numpy as np

from crowdml.types import Array

CLIP_DEVIATIONS = 6.0
"""Standard deviations beyond which a feature is cut off."""


def standardized(x: Array, reference: Array) -> Array:
    """Compute (x - mean)/deviation by the reference's columns; keep the unit of constant columns.

    >>> standardized(np.array([[5.0, 2.0]]), np.array([[1.0, 2.0], [3.0, 2.0]])).tolist()
    [[3.0, 0.0]]
    """
    deviation = reference.std(axis=0)
    scaled: Array = (x - reference.mean(axis=0)) / np.where(deviation > 0, deviation, 1.0)
    return scaled

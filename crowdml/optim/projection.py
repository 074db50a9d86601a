"""Project parameters onto the ball of radius R: Π in the paper."""

import math

from crowdml.types import Array


def project(w: Array, radius: float) -> Array:
    """Compute min(1, R/‖w‖₂)·w.

    Paper: below Eq. (4).

    >>> import numpy as np
    >>> project(np.array([3.0, 4.0]), radius=1.0)
    array([0.6, 0.8])
    """
    norm = math.sqrt(w.dot(w))
    return w if norm <= radius else (radius / norm) * w

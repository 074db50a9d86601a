"""Define the few array types that the whole package shares."""

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

__all__ = ["Array", "Flags", "Ints"]

Array: TypeAlias = npt.NDArray[np.float64]
"""Real numbers: features, parameters, gradients."""

Ints: TypeAlias = npt.NDArray[np.int64]
"""Integers: labels, counts, quantised gradients."""

Flags: TypeAlias = npt.NDArray[np.bool_]
"""One truth value per sample."""

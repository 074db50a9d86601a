"""Scale features and targets by bounds that are known without looking at the data."""

import math
import warnings
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from crowdml.errors import InvalidInput
from crowdml.privacy import bound_rows
from crowdml.types import Array

HALF_WIDTH_DEVIATIONS = 3.0
"""Half the distance of two bounds, in units of the numbers between them: as for standardised
features within ±3."""


class Bounds(NamedTuple):
    """Hold the bounds of each column, and cut off numbers beyond them.

    >>> Bounds.of((0, 10), 2, "bounds").cut(np.array([[5.0, 12.0]]))
    array([[ 5., 10.]])
    """

    low: Array
    high: Array

    @classmethod
    def of(cls, bounds: Any, columns: int, name: str) -> "Bounds":
        """Make bounds from one pair for all columns, or from two arrays with one number each."""
        try:
            low, high = (np.broadcast_to(np.asarray(b, np.float64), columns) for b in bounds)
        except (TypeError, ValueError):
            low = high = np.zeros(0)
        if not (len(low) and np.isfinite(high - low).all() and (low < high).all()):
            raise InvalidInput(
                f"{name} must be (low, high) with low < high, both finite, numbers or arrays of "
                f"{columns}, found {bounds!r}."
            )
        return cls(low, high)

    @property
    def middle(self) -> Array:
        return (self.low + self.high) / 2

    @property
    def unit(self) -> Array:
        """Return the typical distance of a number from the middle of its bounds."""
        return (self.high - self.low) / (2 * HALF_WIDTH_DEVIATIONS)

    def cut(self, x: Array) -> Array:
        cut: Array = np.clip(x, self.low, self.high)
        return cut

    def reach(self, norm: int) -> Array:
        """Return the divisor that gives a row at the bound in one column the length 1 in this norm.

        Standardised rows of many columns become as long, or longer, and are then rescaled.
        """
        d = len(self.low)
        return self.unit * (math.sqrt(d) + 2 if norm == 2 else (d + 5) / 2)

    def rows(self, x: Array, norm: int) -> Array:
        """Cut off, centre and rescale rows to ‖x‖ ≤ 1, as devices need them."""
        return bound_rows((self.cut(x) - self.middle) / self.reach(norm), norm)

    def warn(self, x: npt.NDArray[Any], name: str) -> None:
        """Warn if the numbers do not fit these bounds."""
        beyond = ((x < self.low) | (x > self.high)).mean(axis=0)
        if (beyond > 0.5).any():
            warnings.warn(
                f"most numbers of {(beyond > 0.5).sum()} of {len(beyond)} columns lie outside "
                f"{name} and are cut off, so little can be learnt from them. Give {name} that you "
                "know beforehand.",
                stacklevel=4,
            )

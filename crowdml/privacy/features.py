"""Enforce the precondition ‖x‖ ≤ 1 on the device instead of trusting the caller."""

import contextlib
import reprlib

import numpy as np
import numpy.typing as npt

from crowdml.errors import InvalidSample
from crowdml.types import Array

LARGEST_TARGET = 1e12
"""A real target beyond this is a wrong unit, and sums of floats would lose precision."""

LARGEST_SQUARED = 1e150
"""A larger number has a square that does not fit a float."""

SMALLEST_VALUE = 2.0**-60
"""Smaller numbers count as 0: their products could be so close to 0 that processors take longer
for them, and the time would reveal who has such samples."""


def bound_features(x: npt.ArrayLike, n_features: int, norm: int) -> Array:
    """Rescale x to ‖x‖ = 1 if it is longer, and reject it unless it has D finite numbers.

    >>> bound_features([3.0, -1.0], n_features=2, norm=1)
    array([ 0.75, -0.25])
    >>> bound_features([3.0, -4.0], n_features=2, norm=2)
    array([ 0.6, -0.8])
    >>> bound_features([0.5, 0.25], n_features=2, norm=1)
    array([0.5 , 0.25])
    """
    try:
        numbers = np.asarray(x)
    except (TypeError, ValueError) as error:
        raise InvalidSample(f"x must be {n_features} numbers: {error}.") from error
    if numbers.dtype.kind not in "biuf":
        raise InvalidSample(f"x must be {n_features} numbers, found {_strange(x)}.")
    features = numbers.astype(np.float64)
    if features.shape != (n_features,):
        found = len(features) if features.ndim == 1 else f"an array of shape {features.shape}"
        raise InvalidSample(f"x must be {n_features} numbers, found {found}.")
    if not np.isfinite(features).all():
        raise InvalidSample("x must be finite numbers, found nan or inf. Drop such samples.")
    return bound_rows(features[None], norm).ravel()


def _strange(x: npt.ArrayLike) -> str:
    """Return the first value that is not a number."""
    values = np.asarray(x, dtype=object).ravel().tolist()
    numbers = (int, float, np.number, np.bool_)
    return reprlib.repr(next((v for v in values if not isinstance(v, numbers)), x))


def bound_rows(x: Array, norm: int) -> Array:
    """Rescale each row that is longer than 1 to ‖x‖ = 1: the rule of `bound_features`.

    Values that are smaller than `SMALLEST_VALUE` afterwards become 0.

    >>> bound_rows(np.array([[3.0, -1.0], [0.5, 0.25]]), norm=1)
    array([[ 0.75, -0.25],
           [ 0.5 ,  0.25]])
    """
    largest = np.abs(x).max(axis=1, keepdims=True)
    x = x / np.where(largest > LARGEST_SQUARED, largest, 1.0)
    length = np.abs(x).sum(axis=1) if norm == 1 else np.sqrt((x**2).sum(axis=1))
    bounded: Array = x / np.maximum(length, 1.0)[:, None]
    return np.where(np.abs(bounded) < SMALLEST_VALUE, 0.0, bounded)


def check_target(y: object, n_classes: int, name: str = "y") -> float:
    """Require a label 0 … C−1, or a finite real target where there are no classes.

    >>> check_target(2, n_classes=3)
    2.0
    >>> check_target(3, n_classes=3)
    Traceback (most recent call last):
    crowdml.errors.InvalidSample: y must be a label 0 … 2, found 3.
    """
    value = np.nan
    if isinstance(y, int | float | np.integer | np.floating) and not isinstance(y, bool):
        with contextlib.suppress(OverflowError):
            value = float(y)
    if n_classes:
        rule, valid = f"a label 0 … {n_classes - 1}", value in range(n_classes)
    else:
        rule, valid = f"a number within ±{LARGEST_TARGET:g}", abs(value) <= LARGEST_TARGET
    if not valid:
        raise InvalidSample(f"{name} must be {rule}, found {reprlib.repr(y)}.")
    return value if abs(value) >= SMALLEST_VALUE else 0.0

"""The precondition ‖x‖₁ ≤ 1, enforced on the device and never left to the caller."""

import contextlib
import reprlib

import numpy as np
import numpy.typing as npt

from crowdml.errors import InvalidSample
from crowdml.types import Array

__all__ = ["LARGEST_TARGET", "bound_features", "check_target"]

LARGEST_TARGET = 1e12
"""Beyond this a real target is a unit mistake, and sums of floats would lose meaning."""


def bound_features(x: npt.ArrayLike, n_features: int) -> Array:
    """x, rescaled to ‖x‖₁ = 1 if it is longer; refused if it is not D finite numbers.

    >>> bound_features([3.0, -1.0], n_features=2)
    array([ 0.75, -0.25])
    >>> bound_features([0.5, 0.25], n_features=2)
    array([0.5 , 0.25])
    """
    try:
        numbers = np.asarray(x)
    except (TypeError, ValueError) as error:
        raise InvalidSample(f"x must be {n_features} numbers: {error}.") from error
    if numbers.dtype.kind not in "biuf":
        raise InvalidSample(f"x must be {n_features} numbers, found {numbers.dtype}.")
    features = numbers.astype(np.float64)
    if features.shape != (n_features,):
        found = len(features) if features.ndim == 1 else f"an array of shape {features.shape}"
        raise InvalidSample(f"x must be {n_features} numbers, found {found}.")
    largest = np.abs(features).max()
    if not np.isfinite(largest):
        raise InvalidSample("x must be finite numbers, found nan or inf. Drop such samples.")
    if largest > 1e300:
        features = features / largest
    l1_norm = np.abs(features).sum()
    return features / l1_norm if l1_norm > 1.0 else features


def check_target(y: object, n_classes: int) -> float:
    """A label 0 … C−1, or a finite real target where there are no classes.

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
        raise InvalidSample(f"y must be {rule}, found {reprlib.repr(y)}.")
    return value

"""Compute from a few simulated runs the interval in which one more run will end."""

import math

import numpy as np
from scipy.special import stdtrit

from crowdml.types import Array

INTERVAL_LEVEL = 0.95
"""The share of runs that an interval should hold; intervals of ten runs hold 93 to 97 % of
simulated runs on average, and a single one may hold fewer."""

REACHING_SHARE = 0.95
"""The share of runs that seem to reach a target error, so that nine in ten really do."""


def error_interval(errors: Array) -> tuple[float, float]:
    """Return the interval that holds the error of one more run as often as `INTERVAL_LEVEL`.

    The runs are taken to be normal on the scale arcsin √e, on which errors near 0 and near 1 spread
    as those in the middle do. The interval is Student's for one more observation, so that few runs
    give a wide one; a single run gives 0 … 1.

    >>> low, high = error_interval(np.array([0.10, 0.12, 0.11, 0.13, 0.10]))
    >>> round(low, 2), round(high, 2)
    (0.08, 0.15)
    """
    low, high = _interval(np.arcsin(np.sqrt(errors)), (1 + INTERVAL_LEVEL) / 2)
    return _error(low), _error(high)


def shift_interval(shifts: Array) -> tuple[float, float]:
    """Return the interval of the difference of two errors, which may have either sign."""
    return _interval(shifts, (1 + INTERVAL_LEVEL) / 2)


def surely_at_most(target: float, errors: Array) -> bool:
    """Decide whether one more run has at most the target error as often as `REACHING_SHARE`.

    >>> errors = np.array([0.1, 0.12, 0.11])
    >>> surely_at_most(0.2, errors), surely_at_most(0.12, errors)
    (True, False)
    """
    _, high = _interval(np.arcsin(np.sqrt(errors)), REACHING_SHARE)
    return _error(high) <= target


def _interval(values: Array, quantile: float) -> tuple[float, float]:
    n = len(values)
    if n < 2:
        return -math.inf, math.inf
    wide = float(stdtrit(n - 1, quantile)) * float(values.std(ddof=1)) * math.sqrt(1 + 1 / n)
    middle = float(values.mean())
    return middle - wide, middle + wide


def _error(angle: float) -> float:
    return math.sin(min(max(angle, 0.0), math.pi / 2)) ** 2

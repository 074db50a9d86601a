"""Minimise a convex function by L-BFGS, with NumPy alone."""

from collections import deque
from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from crowdml.types import Array

Objective: TypeAlias = Callable[[Array], tuple[float, Array]]
"""The value and a (sub)gradient at a point."""

REMEMBERED_STEPS = 10
"""How many steps the estimate of the curvature remembers."""

DECREASE, CURVATURE = 1e-4, 0.9
"""The constants of the weak Wolfe conditions."""


def minimize(f: Objective, start: Array, tolerance: float = 1e-9, most_steps: int = 300) -> Array:
    """Return a point from which a step lowers `f` by at most `tolerance` times its value.

    The rule does not depend on the units of `f`. It also ends at corners, which the hinge loss has,
    where no gradient is short.

    Reference: J. Nocedal and S. Wright, Numerical Optimization, Algorithm 7.5; the line search
    is by A. Lewis and M. Overton, Math. Program. 141 (2013), and copes with corners.

    >>> minimize(lambda w: (float(w @ w) - 2 * w[0], 2 * w - np.array([2.0, 0.0])), np.ones(2) * 5)
    array([1., 0.])
    """
    w, (value, g) = start, f(start)
    memory: deque[tuple[Array, Array]] = deque(maxlen=REMEMBERED_STEPS)
    for _ in range(most_steps):
        found = _search(f, w, value, g, _direction(g, memory))
        if found is None:
            break
        new, new_value, new_g = found
        if value - new_value <= tolerance * abs(value):
            return new
        if (new - w) @ (new_g - g) > 0:
            memory.append((new - w, new_g - g))
        w, value, g = new, new_value, new_g
    return w


def _direction(g: Array, memory: deque[tuple[Array, Array]]) -> Array:
    """Compute −H·g, with the inverse curvature H that the remembered steps have shown."""
    q, weights = -g, []
    for s, y in reversed(memory):
        weights.append(s @ q / (s @ y))
        q = q - weights[-1] * y
    if memory:
        s, y = memory[-1]
        q = q * (s @ y / (y @ y))
    for s, y in memory:
        q = q + (weights.pop() - y @ q / (s @ y)) * s
    return q


def _search(
    f: Objective, w: Array, value: float, g: Array, p: Array
) -> tuple[Array, float, Array] | None:
    """Find a point on w + t·p that is lower and less steep; None where rounding hides it."""
    slope, low, high, t = g @ p, 0.0, np.inf, 1.0
    if slope == 0:
        return None
    for _ in range(30):
        new = w + t * p
        new_value, new_g = f(new)
        if not new_value <= value + DECREASE * t * slope:
            high = t
        elif new_g @ p < CURVATURE * slope:
            low = t
        else:
            return new, new_value, new_g
        t = (low + high) / 2 if high < np.inf else 2 * low
    return (new, new_value, new_g) if new_value < value else None

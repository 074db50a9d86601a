"""How many devices a target error needs, so that nine runs in ten reach it."""

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from crowdml.simulation.advice.interval import surely_at_most
from crowdml.types import Array

FIRST, MORE, AGAIN = 4, 8, 32
"""Runs at a size: to drop it early, to accept it, and to accept it once more with others."""

MISSES = 1
"""Of these runs, so many may miss the target. A size that misses it in one run of seven is
accepted once more with a chance of 5 %."""

Errors: TypeAlias = Callable[[int, int, int], Array]
"""`errors(devices, runs, seed)` simulates the errors of this many runs."""


def fewest_devices(errors: Errors, sizes: Sequence[int], target: float) -> int | None:
    """The first of the sizes, in rising order, at which nine runs in ten have the target error.

    Larger crowds learn better, so the size is found by bisection. Of several sizes that nearly
    suffice, the first that seems to is often a lucky one. So it counts only when runs that had no
    part in finding it agree; otherwise the next size is asked.

    None if the largest does not suffice.
    """
    low, high = 0, len(sizes)
    while low < high:
        middle = (low + high) // 2
        if _suffices(errors, sizes[middle], target):
            high = middle
        else:
            low = middle + 1
    for size in sizes[low:]:
        if _reached(errors(size, AGAIN, 2), target):
            return size
    return None


def _suffices(errors: Errors, size: int, target: float) -> bool:
    first = errors(size, FIRST, 0)
    if first.mean() > target and (first > target).sum() > MISSES:
        return False
    return _reached(np.concatenate([first, errors(size, MORE, 1)]), target)


def _reached(errors: Array, target: float) -> bool:
    """Nine in ten are below the target by Student's bound; or one misses it, however far."""
    return int((errors > target).sum()) <= MISSES or surely_at_most(target, errors)

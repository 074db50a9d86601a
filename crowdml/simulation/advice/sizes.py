"""Find how many devices a target error needs, so that nine runs in ten reach it."""

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from crowdml.simulation.advice.interval import surely_at_most
from crowdml.types import Array

FIRST_RUNS, MORE_RUNS, CONFIRMING_RUNS = 4, 8, 32
"""The number of runs at a size: to drop it early, to accept it, and to confirm it with others."""

MOST_MISSES = 1
"""The number of these runs that may miss the target.

A size that misses the target in one run of seven is confirmed with a probability of 5 %.
"""

Errors: TypeAlias = Callable[[int, int, int], Array]
"""`errors(devices, runs, seed)` simulates the errors of this many runs."""


def fewest_devices(errors: Errors, sizes: Sequence[int], target: float) -> int | None:
    """Find the first size, in rising order, at which nine runs in ten have the target error.

    Larger crowds learn better, so the size is found by bisection. Of several sizes that are nearly
    enough, the first that seems to be enough is often a lucky one. So a size counts only when
    further runs, which had no part in finding it, agree; otherwise the next size is tried.

    Returns None if the largest size is not enough.
    """
    low, high = 0, len(sizes)
    while low < high:
        middle = (low + high) // 2
        if _suffices(errors, sizes[middle], target):
            high = middle
        else:
            low = middle + 1
    for size in sizes[low:]:
        if _reached(errors(size, CONFIRMING_RUNS, 2), target):
            return size
    return None


def _suffices(errors: Errors, size: int, target: float) -> bool:
    first = errors(size, FIRST_RUNS, 0)
    if first.mean() > target and (first > target).sum() > MOST_MISSES:
        return False
    return _reached(np.concatenate([first, errors(size, MORE_RUNS, 1)]), target)


def _reached(errors: Array, target: float) -> bool:
    """Decide whether enough runs reach the target, by Student's bound or by counting."""
    return int((errors > target).sum()) <= MOST_MISSES or surely_at_most(target, errors)

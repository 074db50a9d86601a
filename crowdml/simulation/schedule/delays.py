"""Draw how long messages take, in ticks of the sample clock (Δ).

Equal delays are the same function object, so crowds with equal delays compare equal and share
schedules.
"""

from collections.abc import Callable
from functools import cache
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from crowdml.errors import InvalidInput

LONGEST_DELAY = 1e9
"""The longest typical delay, in ticks: more than the samples of any simulated crowd."""

Delay: TypeAlias = Callable[[np.random.Generator, int], npt.ArrayLike]
"""`delay(rng, n)` draws n delays; any function of the generator will do."""


@cache
def uniform_delay(longest: float) -> Delay:
    """Draw uniformly from [0, τ], the paper's choice.

    Paper: Section V-C.
    """
    _check(longest)
    return lambda rng, n: rng.uniform(0.0, longest, n)


@cache
def constant_delay(ticks: float) -> Delay:
    _check(ticks)
    return lambda rng, n: np.full(n, ticks)


@cache
def exponential_delay(mean: float) -> Delay:
    _check(mean)
    return lambda rng, n: rng.exponential(mean, n)


@cache
def lognormal_delay(median: float, sigma: float = 1.0) -> Delay:
    _check(median)
    return lambda rng, n: median * rng.lognormal(0.0, sigma, n)


def draw(delay: Delay, rng: np.random.Generator, n: int) -> npt.NDArray[np.int64]:
    """Draw n delays in whole ticks, rounded to the nearest."""
    ticks = np.rint(np.asarray(delay(rng, n), dtype=np.float64))
    if ticks.shape != (n,) or not np.isfinite(ticks).all() or (ticks < 0).any():
        raise InvalidInput(f"a delay must give {n} finite numbers that are not negative.")
    return ticks.astype(np.int64)


def _check(ticks: float) -> None:
    if not 0 <= ticks <= LONGEST_DELAY:
        raise InvalidInput(f"a delay must lie in 0 … {LONGEST_DELAY:g}, found {ticks:g}.")

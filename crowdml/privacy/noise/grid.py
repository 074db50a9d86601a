"""Round gradients to integers on a public grid before noise is added."""

import math
from fractions import Fraction
from functools import lru_cache

import numpy as np

from crowdml.types import Array, Ints

NOISE_STEPS = 2.0**20
"""The scale of the noise to aim for, in steps: rounding then costs almost nothing."""

LARGEST_NOISELESS = 2.0**29
"""The largest noiseless integer, a quarter of the range of int32: the rest is for noise."""


def choose_grid(clip: float, largest: float, n: int, epsilon: float) -> int:
    """Choose the exponent k of the step q = 2^k.

    The noise scale 2S/(nε) becomes 2²⁰ to 2²¹ steps, unless the values would not fit. Without
    noise the step is as fine as the range allows. The choice depends only on public numbers, so
    the server can check it.

    Args:
        clip: S, the bound on ‖g_i‖.
        largest: The largest possible |g̃_j|, regularization included.
        n: Samples behind the average.
        epsilon: ε_g, or √(2ρ) for Gaussian noise.

    >>> choose_grid(clip=2.0, largest=2.0, n=20, epsilon=1.0)
    -23
    """
    fits = _floor_log2(largest / LARGEST_NOISELESS) + 1
    if math.isinf(epsilon):
        return fits
    return max(fits, _floor_log2(2.0 * clip / (n * epsilon * NOISE_STEPS)))


@lru_cache(maxsize=256)
def sensitivity_steps(clip: float, n: int, grid: int, rounding: int) -> int:
    """Bound the steps that one replaced sample moves the rounded average: ⌈2S/(nq)⌉ + rounding.

    The average moves by at most 2S/n. Rounding can add one step for each of d numbers, which is d
    in L1 and ⌈√d⌉ in L2. The bound is computed in exact arithmetic, but the average itself in
    floats: clipping leaves a margin below S that is larger than their rounding, for n ≤ 10⁶
    (`crowdml/models/clipping.py`). The proof does not need distances to be whole numbers; in L2
    they are not.

    >>> sensitivity_steps(clip=2.0, n=20, grid=-23, rounding=500)
    1678222
    """
    return math.ceil(2 * Fraction(clip) / n / Fraction(2) ** grid) + rounding


def quantize(g: Array, grid: int) -> Ints:
    """Compute round(g/2^grid), ties to even.

    >>> quantize(np.array([0.3, -0.5, 0.875]), grid=-2)
    array([ 1, -2,  4])
    """
    return np.rint(np.ldexp(g, -grid)).astype(np.int64)


def _floor_log2(v: float) -> int:
    return math.frexp(v)[1] - 1

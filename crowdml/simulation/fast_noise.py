"""Fast pseudo-random Laplace noise for simulated crowds, where no person is behind a sample.

Sixteen generators (xoshiro128++) run side by side, one per lane, and the logarithm is a polynomial
on bit patterns: plain vector arithmetic. Never for real samples: it is neither exact nor secret.
"""

import numpy as np
import numpy.typing as npt
from numba import njit

from crowdml.simulation.lanes import (
    LANES,
    as_floats,
    as_words,
    load,
    polynomial,
    polynomial_of,
    store,
    to_floats,
)

__all__ = ["fill_laplace", "seed_streams"]

LN2 = np.float32(np.log(2.0))
LOG1P = polynomial_of(np.log1p, 8)


def seed_streams(rng: np.random.Generator) -> npt.NDArray[np.uint32]:
    """The states of sixteen independent generators, 4 words each."""
    return rng.integers(1, 2**32, size=(4, LANES), dtype=np.uint32)


@njit(fastmath=True, cache=True)
def fill_laplace(out, size, scale, streams):  # type: ignore[no-untyped-def]
    """out[j] += Laplace(0, scale) for every j < size rounded up to a multiple of 16.

    |z| = −scale·log(u) with u uniform on 2²³ equally likely values, and a sign bit of its own.
    """
    a, b = load(streams, 0), load(streams, LANES)
    c, d = load(streams, 2 * LANES), load(streams, 3 * LANES)
    for at in range(0, size, LANES):
        word = _rotate(a + d, 7) + a
        shifted = b << 9
        c = c ^ a
        d = d ^ b
        b = b ^ c
        a = a ^ d
        c = c ^ shifted
        d = _rotate(d, 11)
        u = to_floats(word >> 9) + np.float32(0.5)
        signed = as_floats(as_words(_minus_log(u)) ^ (word << 31))
        store(out, at, load(out, at) + signed * scale)
    store(streams, 0, a)
    store(streams, LANES, b)
    store(streams, 2 * LANES, c)
    store(streams, 3 * LANES, d)


@njit(forceinline=True, cache=True)
def _rotate(v, bits):  # type: ignore[no-untyped-def]
    return (v << bits) | (v >> (32 - bits))


@njit(fastmath=True, forceinline=True, cache=True)
def _minus_log(u):  # type: ignore[no-untyped-def]
    """−log(u·2⁻²³): the exponent times log 2, and a polynomial in the fraction."""
    word = as_words(u)
    exponent = np.float32(127 + 23) - to_floats(word >> 23)
    f = as_floats((word & 0x7FFFFF) | 0x3F800000) - np.float32(1.0)
    return exponent * LN2 - polynomial(LOG1P, f)

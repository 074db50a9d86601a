"""Draw fast pseudo-random noise for simulated crowds, where no person is behind a sample.

Sixteen generators (xoshiro128++) run side by side, one per lane, and logarithm, sine and cosine are
polynomials: plain vector arithmetic. Never for real samples: it is neither exact nor secret.
"""

import numpy as np
import numpy.typing as npt
from numba import njit

from crowdml.simulation.compiled.lanes import (
    LANES,
    absolute,
    as_floats,
    as_words,
    load,
    polynomial,
    polynomial_of,
    root,
    splat,
    store,
    to_floats,
    total,
)

LN2 = np.float32(np.log(2.0))
LOG1P = polynomial_of(np.log1p, 8)
COS = polynomial_of(lambda f2: np.cos(np.pi / 2 * np.sqrt(f2)), 4)
SIN = polynomial_of(lambda f2: np.sin(np.pi / 2 * np.sqrt(f2)) / np.sqrt(f2), 4)
"""Sine (divided by f) and cosine of the share f of a quarter turn, as polynomials in f²."""

QUARTER = np.float32(2.0**-23)


def seed_streams(rng: np.random.Generator) -> npt.NDArray[np.uint32]:
    """Make the states of sixteen independent generators, 4 words each."""
    return rng.integers(1, 2**32, size=(4, LANES), dtype=np.uint32)


@njit(fastmath=True, cache=True)
def add_laplace(out, size, scale, streams):  # type: ignore[no-untyped-def]
    """Add Laplace(0, scale) to out[j] for every j < size, rounded up to a multiple of 16.

    |z| = −scale·log(u) with u uniform on 2²³ equally likely values, and a sign bit of its own.
    """
    a, b, c, d = _begin(streams)
    for at in range(0, size, LANES):
        word, a, b, c, d = _next(a, b, c, d)
        signed = as_floats(as_words(_minus_log(word)) ^ (word << 31))
        store(out, at, load(out, at) + signed * scale)
    _end(streams, a, b, c, d)


@njit(fastmath=True, cache=True)
def add_normal(out, size, scale, streams):  # type: ignore[no-untyped-def]
    """Add Normal(0, scale²) to out[j], for the same j as `add_laplace`."""
    a, b, c, d = _begin(streams)
    for at in range(0, size, 2 * LANES):
        first, a, b, c, d = _next(a, b, c, d)
        second, a, b, c, d = _next(a, b, c, d)
        z0, z1 = _two_normals(first, second)
        store(out, at, load(out, at) + z0 * scale)
        if at + LANES < size:
            store(out, at + LANES, load(out, at + LANES) + z1 * scale)
    _end(streams, a, b, c, d)


@njit(fastmath=True, cache=True)
def fill_normal(out, other, size, streams):  # type: ignore[no-untyped-def]
    """Set out[j] to Normal(0, 1), for the same j; return Σ out[j]·other[j]."""
    a, b, c, d = _begin(streams)
    sums = splat(np.float32(0.0))
    for at in range(0, size, 2 * LANES):
        first, a, b, c, d = _next(a, b, c, d)
        second, a, b, c, d = _next(a, b, c, d)
        z0, z1 = _two_normals(first, second)
        store(out, at, z0)
        sums = sums + z0 * load(other, at)
        if at + LANES < size:
            store(out, at + LANES, z1)
            sums = sums + z1 * load(other, at + LANES)
    _end(streams, a, b, c, d)
    return total(sums)


@njit(forceinline=True, cache=True)
def _begin(streams):  # type: ignore[no-untyped-def]
    return (
        load(streams, 0),
        load(streams, LANES),
        load(streams, 2 * LANES),
        load(streams, 3 * LANES),
    )


@njit(forceinline=True, cache=True)
def _end(streams, a, b, c, d):  # type: ignore[no-untyped-def]
    store(streams, 0, a)
    store(streams, LANES, b)
    store(streams, 2 * LANES, c)
    store(streams, 3 * LANES, d)


@njit(forceinline=True, cache=True)
def _next(a, b, c, d):  # type: ignore[no-untyped-def]
    """Draw 32 random bits in each lane; return them with the next state."""
    word = _rotate(a + d, 7) + a
    shifted = b << 9
    c = c ^ a
    d = d ^ b
    b = b ^ c
    a = a ^ d
    c = c ^ shifted
    return word, a, b, c, _rotate(d, 11)


@njit(forceinline=True, cache=True)
def _rotate(v, bits):  # type: ignore[no-untyped-def]
    return (v << bits) | (v >> (32 - bits))


@njit(fastmath=True, forceinline=True, cache=True)
def _minus_log(word):  # type: ignore[no-untyped-def]
    """Compute −log(u·2⁻²³), where u is the upper 23 bits plus a half: exponent and polynomial."""
    u = as_words(to_floats(word >> 9) + np.float32(0.5))
    exponent = np.float32(127 + 23) - to_floats(u >> 23)
    f = as_floats((u & 0x7FFFFF) | 0x3F800000) - np.float32(1.0)
    return exponent * LN2 - polynomial(LOG1P, f)


@njit(fastmath=True, forceinline=True, cache=True)
def _two_normals(first, second):  # type: ignore[no-untyped-def]
    """Compute Box and Muller's two normals: a radius from one word, an angle from the other.

    23 bits turn it within a quarter of the circle, and two more say in which quarter.
    """
    r = root(absolute(_minus_log(first)) * np.float32(2.0))  # rounding may make it negative
    f = to_floats(second >> 9) * QUARTER
    x, y = r * polynomial(COS, f * f), r * f * polynomial(SIN, f * f)
    x = as_floats(as_words(x) ^ (second << 31))
    y = as_floats(as_words(y) ^ ((second & 2) << 30))
    return x, y

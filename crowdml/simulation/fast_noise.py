"""Fast pseudo-random Laplace noise for simulated crowds, where no person is behind a sample.

Every parameter has a generator of its own (xoshiro128++), so that one loop over parameters draws
for all, and the logarithm is a polynomial on bit patterns: plain arithmetic that compilers turn
into vector instructions. Never for real samples: it is neither exact nor secret.
"""

import numpy as np
import numpy.typing as npt
from numba import njit

from crowdml.simulation.bits import bits_float, float_bits

__all__ = ["fill_laplace", "seed_streams"]

UInt32s = npt.NDArray[np.uint32]

LN2 = np.float32(np.log(2.0))


def _log_polynomial(degree: int = 8) -> npt.NDArray[np.float32]:
    """Coefficients, highest first, of log(1 + f) for f in [0, 1), best at Chebyshev's points."""
    nodes = (np.cos(np.pi * (np.arange(64) + 0.5) / 64) + 1.0) / 2.0
    return np.polyfit(nodes, np.log1p(nodes), degree).astype(np.float32)


P = tuple(_log_polynomial())


def seed_streams(rng: np.random.Generator, size: int) -> UInt32s:
    """The states of `size` independent generators, 4 words each."""
    return rng.integers(1, 2**32, size=(4, size), dtype=np.uint32)


@njit(fastmath=True, inline="always", cache=True)
def fill_laplace(out, bits, scale, state):  # type: ignore[no-untyped-def]
    """out[j] += Laplace(0, scale) for every j.

    |z| = −scale·log(u) with u uniform on 2²³ equally likely values, and a sign bit of its own.
    `bits` is scratch space: an array of float32 with room for `out`.
    """
    words = bits.view(np.uint32)
    s0, s1, s2, s3 = state[0], state[1], state[2], state[3]
    n = len(out)
    # Numba widens 32-bit integers; each cast says that only 32 bits matter.
    for j in range(n):
        a, b, c, d = s0[j], s1[j], s2[j], s3[j]
        mixed = np.uint32(a + d)
        words[j] = np.uint32(np.uint32(mixed << 7) | np.uint32(mixed >> 25)) + a
        c = np.uint32(c ^ a)
        d = np.uint32(d ^ b)
        s1[j] = b ^ c
        s0[j] = a ^ d
        s2[j] = c ^ np.uint32(b << 9)
        s3[j] = np.uint32(d << 11) | np.uint32(d >> 21)
    for j in range(n):
        word = words[j]
        sign = np.float32(1.0) - np.float32(2.0) * np.float32(np.int32(word & 1))
        u = np.float32(np.int32(word >> 9)) + np.float32(0.5)
        out[j] += _minus_log(u) * (sign * scale)


@njit(fastmath=True, inline="always", cache=True)
def _minus_log(u):  # type: ignore[no-untyped-def]
    """−log(u·2⁻²³) for a float32 u."""
    word = float_bits(u)
    exponent = np.float32(np.int32(word >> 23) - np.int32(127 + 23))
    f = bits_float(np.uint32((word & 0x7FFFFF) | 0x3F800000)) - np.float32(1.0)
    p = np.float32(P[0])
    p = p * f + np.float32(P[1])
    p = p * f + np.float32(P[2])
    p = p * f + np.float32(P[3])
    p = p * f + np.float32(P[4])
    p = p * f + np.float32(P[5])
    p = p * f + np.float32(P[6])
    p = p * f + np.float32(P[7])
    p = p * f + np.float32(P[8])
    return -(p + exponent * LN2)

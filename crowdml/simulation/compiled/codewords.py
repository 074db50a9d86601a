"""Draw k codewords for a simulated crowd, rank them by a gradient, and name one.

Each is made of random bytes, as on devices: its numbers are the ones in a byte, less 4. The bytes
come from a counter and a mixing function (splitmix64), so that one codeword can be drawn again.
"""

import math

import numpy as np
from numba import njit

WORD_BYTES = 8
"""The number of bytes in a word."""

GOLDEN, FIRST_FACTOR, SECOND_FACTOR = (
    np.uint64(n) for n in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
)
PAIRS, FOURS, EIGHTS = (
    np.uint64(n) for n in (0x5555555555555555, 0x3333333333333333, 0x0F0F0F0F0F0F0F0F)
)
CODE_MEAN, CODE_DEVIATION = 4, np.float32(math.sqrt(2.0))
"""The law of the number of ones in a byte, as in `crowdml/privacy/direction/codebook.py`."""


@njit(fastmath=True, nogil=True, cache=True)
def fill_codeword(out, g, size, k, rank, seed, ranked):  # type: ignore[no-untyped-def]
    """Set out[j] to the numbers of the codeword of this rank in the order of g, divided by √2.

    Args:
        rank: 1 for the one that is closest to g, k for the one that is farthest from it.
        seed: Decides all k codewords.
        ranked: Room for k numbers.
    """
    row = -(-size // WORD_BYTES)
    for i in range(k):
        score = np.float32(0.0)
        for word in range(row):
            ones = _ones(seed, i * row + word)
            for j in range(word * WORD_BYTES, min((word + 1) * WORD_BYTES, size)):
                score += g[j] * np.float32(np.int64(ones & np.uint64(0xFF)) - CODE_MEAN)
                ones >>= np.uint64(8)
        ranked[i] = score
    named = np.partition(ranked[:k], k - rank)[k - rank]
    chosen = 0
    while chosen < k - 1 and ranked[chosen] != named:
        chosen += 1
    for word in range(row):
        ones = _ones(seed, chosen * row + word)
        for j in range(word * WORD_BYTES, min((word + 1) * WORD_BYTES, size)):
            out[j] = np.float32(np.int64(ones & np.uint64(0xFF)) - CODE_MEAN) / CODE_DEVIATION
            ones >>= np.uint64(8)


@njit(nogil=True, cache=True, forceinline=True)
def _ones(seed, counter):  # type: ignore[no-untyped-def]
    """Count the ones in each byte of a random word."""
    x = seed + np.uint64(counter + 1) * GOLDEN
    x = (x ^ (x >> np.uint64(30))) * FIRST_FACTOR
    x = (x ^ (x >> np.uint64(27))) * SECOND_FACTOR
    x = x ^ (x >> np.uint64(31))
    x = x - ((x >> np.uint64(1)) & PAIRS)
    x = (x & FOURS) + ((x >> np.uint64(2)) & FOURS)
    return (x + (x >> np.uint64(4))) & EIGHTS

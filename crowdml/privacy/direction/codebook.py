"""Expand public random directions, with the same result on every device and on the server.

A codeword is d small integers. Each is the number of ones in a random byte, minus 4: a binomial
law, close to a normal law with variance 2. The bytes come from a counter and a mixing function on
32-bit words, seeded by SHA-256 of public words. A codebook need not be secret or hard to predict:
privacy holds for every codebook, and the device does not choose the seed.
"""

import math
from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from crowdml.privacy.checkin_key import CheckinKey
from crowdml.types import Array, Ints

WordArray = npt.NDArray[np.uint32]

CODE_VARIANCE = 2.0
"""The variance of one number of a codeword."""

CODE_MEAN = 4
"""The mean number of ones in a random byte, which is subtracted."""

WORD_BYTES = 4
"""The number of bytes in a word."""

OUTER_SHIFT, INNER_SHIFT, FIRST_FACTOR, SECOND_FACTOR = (
    np.array(number, dtype=np.uint32) for number in (16, 15, 0x7FEB352D, 0x846CA68B)
)
"""The shifts and factors of the mixing function.

They are arrays because NumPy would convert plain numbers each time, which takes a quarter of the
time of a codeword of 500 numbers.
"""

CHUNK_NUMBERS = 2**19
"""Numbers that are expanded at once: a large codebook fits neither into caches nor memory."""

LARGEST_WHOLE = 2**16
"""The largest whole number that a gradient is rounded to: see `in_whole_numbers`."""

SMALLEST_GRADIENT = 2.0**-500
"""A gradient whose numbers are all smaller than this is rounded to zeros."""


class Codebook:
    """Expand k directions in d dimensions.

    Args:
        size: d.
        key: The check-in that the codebook is for.

    >>> Codebook(5, CheckinKey("00", "ana", 1)).codeword(7)
    array([ 1, -1,  1, -1,  1])
    """

    def __init__(self, size: int, key: CheckinKey) -> None:
        self.size = size
        self._seed = key.seed()[: 2 * WORD_BYTES]
        self._row = -(-size // WORD_BYTES)

    def codeword(self, j: int) -> Ints:
        """Return v_j, in whole numbers."""
        word: Ints = next(codewords([self], [j]))[0].astype(np.int64)
        return word

    def scores(self, whole: Array, k: int) -> Array:
        """Compute ⟨v_j, whole⟩ for j = 0 … k−1 exactly, in a time that depends only on d and k.

        Args:
            whole: d whole numbers of at most `LARGEST_WHOLE`, as floats: sums of their products
                with the numbers of a codeword stay below 2⁵³.
        """
        step = max(1, CHUNK_NUMBERS // self.size)
        scores = np.empty(k)
        for j in range(0, k, step):
            words = np.arange(j * self._row, min(j + step, k) * self._row, dtype=np.uint32)
            ones = _expanded(words.reshape(-1, self._row), self._seed)[:, : self.size]
            # A matrix product would start threads for one millisecond of work.
            np.vecdot(ones, whole, out=scores[j : j + step])
        return scores - CODE_MEAN * float(whole.sum())


def in_whole_numbers(u: Array) -> tuple[Array, float]:
    """Round u to whole numbers of at most `LARGEST_WHOLE`, as floats, and compute the length of u.

    Processors are many times slower with floats near 2⁻¹⁰⁷⁴ than with other floats. A server that
    chooses w could put such floats into u for some samples and not for others, and read from the
    time of a check-in which samples a device has. So small numbers are set to 0 by comparisons
    alone, before any arithmetic.

    Returns:
        The whole numbers ⌊2¹⁶·u_j/max|u| + ½⌋, and the length max|u|/2¹⁶·√Σ(their squares).

    >>> whole, length = in_whole_numbers(np.array([3.0, -4.0, 5e-324]))
    >>> whole
    array([ 49152., -65536.,      0.])
    >>> length
    5.0
    """
    size = np.abs(u)
    top = float(size.max())
    sound = SMALLEST_GRADIENT <= top < np.inf
    # If u is not sound, `least` is nan: no comparison with nan is true, so every number becomes 0.
    least, top = (top / (4 * LARGEST_WHOLE), top) if sound else (np.nan, 1.0)
    kept = np.where(size >= least, u, 0.0)
    whole: Array = np.floor(kept / top * LARGEST_WHOLE + 0.5)
    return whole, top / LARGEST_WHOLE * math.sqrt(float(np.vecdot(whole, whole)))


def codewords(codebooks: Sequence[Codebook], numbers: Sequence[int]) -> Iterator[Array]:
    """Expand one codeword of each codebook, as rows, in parts that fit into memory.

    All codebooks have the same size. A row takes a fifth of the time of `Codebook.codeword`. Its
    whole numbers are floats, because the server scales them next.
    """
    size, row = (codebooks[0].size, codebooks[0]._row) if codebooks else (1, 1)
    step = max(1, CHUNK_NUMBERS // size)
    for i in range(0, len(codebooks), step):
        first = np.array(numbers[i : i + step], dtype=np.uint32)[:, None]
        words = np.multiply(first, row, dtype=np.uint32) + np.arange(row, dtype=np.uint32)
        seeds = b"".join(codebook._seed for codebook in codebooks[i : i + step])
        yield _expanded(words, seeds)[:, :size].astype(np.float64) - CODE_MEAN


def _expanded(words: WordArray, seeds: bytes) -> npt.NDArray[np.uint8]:
    """Mix rows of words with both keys of their seed, and count the ones in each byte.

    There is one seed for each row, or one seed for all rows."""
    for key in np.frombuffer(seeds, dtype="<u4").astype(np.uint32).reshape(-1, 2).T:
        _mix(words, key[:, None])
    return np.bitwise_count(words.astype("<u4", copy=False).view(np.uint8))


def _mix(x: WordArray, key: WordArray) -> None:
    """Map words to other words, one to one, so that every bit depends on every bit and the key."""
    x ^= key
    x ^= x >> OUTER_SHIFT
    x *= FIRST_FACTOR
    x ^= x >> INNER_SHIFT
    x *= SECOND_FACTOR
    x ^= x >> OUTER_SHIFT

"""Test that directions expand to the same numbers everywhere, and spread evenly."""

import math

import numpy as np
import pytest

from crowdml.privacy import CheckinKey, Codebook
from crowdml.privacy.direction import codebook as module


def word(size: int, device: str, j: int) -> list[int]:
    """Compute a codeword slowly and obviously, in Python's own integers."""
    import hashlib

    seed = hashlib.sha256(f"{'ab' * 32}\n{device}\n3".encode()).digest()
    keys = [int.from_bytes(seed[at : at + 4], "little") for at in (0, 4)]
    row = -(-size // 4)
    numbers: list[int] = []
    for counter in range(j * row, (j + 1) * row):
        x = counter
        for key in keys:
            x ^= key
            x ^= x >> 16
            x = x * 0x7FEB352D % 2**32
            x ^= x >> 15
            x = x * 0x846CA68B % 2**32
            x ^= x >> 16
        numbers += [byte.bit_count() - 4 for byte in x.to_bytes(4, "little")]
    return numbers[:size]


@pytest.mark.parametrize("size", [1, 2, 4, 5, 99, 128])
@pytest.mark.parametrize("j", [0, 1, 1023])
def test_the_obvious_version(size: int, j: int) -> None:
    book = Codebook(size, CheckinKey("ab" * 32, "ana", 3))
    assert book.codeword(j).tolist() == word(size, "ana", j)


@pytest.mark.parametrize("chunk", [1, 7, 100, 2**19])
def test_scores_are_inner_products(chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CHUNK_NUMBERS", chunk)
    book, u = Codebook(7, CheckinKey("00", "ana", 1)), np.linspace(-1, 2, 7)
    expected = [float(book.codeword(j) @ u) for j in range(50)]
    np.testing.assert_allclose(book.scores(u, 50), expected, atol=1e-5)


@pytest.mark.parametrize("u", [math.nextafter(2.0**-500, 0), math.inf, math.nan])
def test_gradients_that_are_rounded_to_zeros(u: float) -> None:
    """Check that gradients below 2⁻⁵⁰⁰, or not finite, become zeros, and no others do."""
    whole, length = module.in_whole_numbers(np.array([u, 1e-300]))
    assert (whole.tolist(), length) == ([0, 0], 0)
    whole, length = module.in_whole_numbers(np.array([2.0**-500, 0.0]))
    assert (whole.tolist(), length) == ([2**16, 0], 2.0**-500)


def test_seeds_make_codebooks() -> None:
    places = [("00", "ana", 1), ("01", "ana", 1), ("00", "bob", 1), ("00", "ana", 2)]
    words = {tuple(Codebook(64, CheckinKey(*place)).codeword(0).tolist()) for place in places}
    assert len(words) == len(places)


def test_codewords_look_like_normal_vectors() -> None:
    """Check moments and correlations.

    With the given seed this is a fixed computation, so it cannot fail at random.
    """
    book = Codebook(60, CheckinKey("00", "ana", 1))
    v = np.array([book.codeword(j) for j in range(4000)])
    assert abs(v.mean()) < 0.02
    assert v.var() == pytest.approx(2.0, rel=0.02)
    assert np.abs(np.corrcoef(v.T) - np.eye(60)).max() < 0.1
    assert np.abs(np.corrcoef(v[:500]) - np.eye(500)).max() < 0.7
    z = v @ np.linspace(-1, 1, 60) / np.sqrt(2 * (np.linspace(-1, 1, 60) ** 2).sum())
    assert z.std() == pytest.approx(1.0, rel=0.03)
    assert (z**4).mean() == pytest.approx(3.0, abs=0.35)


def test_the_variance_of_a_number() -> None:
    """Compare the variance with the variance of the number of ones in a byte, over all bytes."""
    assert np.bitwise_count(np.arange(256)).var() == module.CODE_VARIANCE

"""What every noise source must keep: integers, the exact law, and independence."""

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from crowdml.privacy import NoiseSource
from crowdml.types import Array, Ints

__all__ = ["check_noise_source"]

SCALES = (0.7, 3.3, 25.0, 2.0**20 / 1.1)
"""Away from 1, where a scale, its square and a variance could be mistaken for each other."""

DRAWS = 20_000
FALSE_ALARM = 1e-10
"""The level of each comparison."""


def check_noise_source(noise: NoiseSource) -> None:
    """Raise `AssertionError` unless the noise has the law P(z) ∝ exp(−|z|/scale), independently.

    A correct source fails with a probability of less than 1e-8: there are 20 comparisons at a
    level of 1e-10, which holds for finite samples. Counts are compared with their exact
    probabilities by the likelihood ratio, and the mean of |z| with its own by Chernoff's bound.
    A scale that is wrong by 6 % is found almost surely.

    Args:
        noise: Any implementation of `crowdml.privacy.NoiseSource`.

    Reference: R. Agrawal, "Finite-Sample Concentration of the Multinomial in Relative Entropy",
    IEEE Transactions on Information Theory 66 (2020).
    """
    _check_integers(noise)
    for scale in SCALES:
        first, second = _draw(noise, scale), _draw(noise, scale)
        both = np.concatenate([first, second])
        edges = _edges(scale, cells=20)
        _require_law(_cells(both, edges), _probabilities(scale, edges), f"noise of scale {scale}")
        _check_spread(both, scale)
        _check_parity(both, scale)
        _check_independence(first, second, scale)


def _check_integers(noise: NoiseSource) -> None:
    values = np.array([0, 1, -5, 10**6, -(10**9)], dtype=np.int64)
    before = values.copy()
    # So little noise that a change has a probability below e⁻¹⁰⁰⁰.
    found = noise.add_laplace(values, 1e-3)
    assert found.dtype == np.int64, f"integers must come out as int64, found {found.dtype}."
    assert np.array_equal(found, values), f"noise must be added to {values}, found {found}."
    assert np.array_equal(values, before), f"the given integers must not change, found {values}."
    for shape in ((0,), (1,), (7,)):
        found = noise.add_laplace(np.zeros(shape, dtype=np.int64), 2.0)
        assert found.shape == shape, f"noise for {shape} must keep the shape, found {found.shape}."


def _draw(noise: NoiseSource, scale: float) -> Ints:
    """Noise alone, drawn around values of every size: they must not matter."""
    values = np.resize(np.array([0, 3, -1000, 10**9, -(10**12)], dtype=np.int64), DRAWS)
    return noise.add_laplace(values, scale) - values


def _check_spread(z: Ints, scale: float) -> None:
    """The mean of |z| tells the scale best, and decays by a known rate around its own mean.

    Tilting the law of |z| gives the same law with another p = e^(−1/s), whose mean is
    2p/(1 − p²); so the exponent of Chernoff's bound has a closed form.
    """
    mean = float(np.abs(z).mean())
    p = math.exp(-1.0 / scale)
    q = mean / (1.0 + math.hypot(1.0, mean))
    odds = (1.0 - p) * (1.0 + q) / ((1.0 + p) * (1.0 - q))
    exponent = mean * (math.log(q) + 1.0 / scale) - math.log(odds) if mean else -math.log1p(-p)
    chance = 2.0 * math.exp(-len(z) * max(0.0, exponent))
    assert chance > FALSE_ALARM, (
        f"noise of scale {scale} must have a mean size of {2.0 * p / (1.0 - p * p)}, found {mean}: "
        f"chance {chance:.1e}."
    )


def _check_parity(z: Ints, scale: float) -> None:
    """The lowest bit is as random as the law says: it is where floats leak."""
    p = math.exp(-1.0 / scale)
    even = (1.0 + p * p) / (1.0 + p) ** 2
    _require_law(z % 2, [even, 1.0 - even], f"the lowest bit at scale {scale}")


def _check_independence(first: Ints, second: Ints, scale: float) -> None:
    """Neighbours in one call, and the same place in two calls, in all pairs of four cells."""
    edges = _edges(scale, cells=4)
    single = _probabilities(scale, edges)
    pairs = [p * q for p in single for q in single]
    here, there = _cells(first, edges), _cells(second, edges)
    for what, one, other in (
        ("coordinates", here[0::2], here[1::2]),
        ("calls", here, there),
    ):
        name = f"pairs of {what} at scale {scale}"
        _require_law(one * len(single) + other, pairs, name)


def _edges(scale: float, cells: int) -> Ints:
    """Upper ends of cells with roughly equal probability, without the last, endless cell."""
    edges = []
    for share in np.arange(1, cells) / cells:
        # The inverse of P(Z ≤ z) = 1 − p^(z+1)/(1+p) for z ≥ 0, mirrored below zero.
        tail = min(share, 1.0 - share) * (1.0 + math.exp(-1.0 / scale))
        z = math.ceil(-scale * math.log(tail)) - 1
        edges.append(z if share >= 0.5 else -z - 1)
    return np.unique(np.array(edges, dtype=np.int64))


def _cells(z: Ints, edges: Ints) -> Ints:
    return np.searchsorted(edges, z, side="left").astype(np.int64)


def _probabilities(scale: float, edges: Ints) -> list[float]:
    below = [0.0, *(_at_most(int(edge), scale) for edge in edges), 1.0]
    return [high - low for low, high in pairwise(below)]


def _at_most(z: int, scale: float) -> float:
    """P(Z ≤ z) of the discrete Laplace law."""
    if z < 0:
        return math.exp(z / scale) / (1.0 + math.exp(-1.0 / scale))
    return 1.0 - math.exp(-(z + 1) / scale) / (1.0 + math.exp(-1.0 / scale))


def _require_law(cells: Ints, probabilities: Sequence[float], what: str) -> None:
    counts = np.bincount(cells, minlength=len(probabilities))
    expected = len(cells) * np.array(probabilities)
    chance = _false_alarm(counts.astype(float), expected)
    assert chance > FALSE_ALARM, (
        f"{what} must have the exact law, found counts {counts.tolist()} where "
        f"{expected.round(1).tolist()} are expected: chance {chance:.1e}."
    )


def _false_alarm(counts: Array, expected: Array) -> float:
    """A bound on the chance of counts at least as unlikely, (e·nK/(k−1))^(k−1)·e^(−nK).

    K is the relative entropy of the counts' shares to the k probabilities; 2nK is asymptotically
    chi-square with k−1 degrees of freedom, but this bound holds for every n.
    """
    seen = counts > 0
    divergence = float(counts[seen] @ np.log(counts[seen] / expected[seen]))
    freedom = len(counts) - 1
    if divergence <= freedom:
        return 1.0
    return math.exp(freedom * (1.0 + math.log(divergence / freedom)) - divergence)

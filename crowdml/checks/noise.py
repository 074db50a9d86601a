"""Check every noise source: integers, the exact laws, and independence."""

import math
from collections.abc import Callable

import numpy as np

from crowdml.checks.families import FAMILIES, Family
from crowdml.privacy import NoiseSource
from crowdml.types import Array, Ints

SCALES = (0.7, 3.3, 25.0, 2.0**20 / 1.1)
"""Scales other than 1, at which a scale, its square and a variance could not be distinguished."""

N_DRAWS = 20_000
FALSE_ALARM = 1e-10
"""The level of each comparison."""

Add = Callable[[Ints, float], Ints]


def check_noise_source(noise: NoiseSource) -> None:
    """Raise `AssertionError` unless the noise has the laws of `NoiseSource`, independently.

    A correct source fails with a probability of less than 1e-8: there are 40 comparisons at a
    level of 1e-10, which holds for finite samples. Counts are compared with their exact
    probabilities by the likelihood ratio, and the mean of |z| or z² with its own by Chernoff's
    bound. A scale that is wrong by 6 % is found almost surely.

    Args:
        noise: Any implementation of `crowdml.privacy.NoiseSource`.

    Reference: R. Agrawal, "Finite-Sample Concentration of the Multinomial in Relative Entropy",
    IEEE Transactions on Information Theory 66 (2020).
    """
    for family in FAMILIES:
        add: Add = getattr(noise, f"add_{family.name}")
        _check_integers(add)
        for scale in SCALES:
            _check_law(family, scale, _draw(add, scale), _draw(add, scale))


def _check_law(family: Family, scale: float, first: Ints, second: Ints) -> None:
    name = f"{family.name} noise of scale {scale}"
    both, edges = np.concatenate([first, second]), family.edges(scale, cells=20)
    _require_law(np.searchsorted(edges, both), _probabilities(family, edges, scale), name)
    _check_spread(family, both, scale)
    even = family.even(scale)
    # The lowest bit must be as random as the law says: floats leak there.
    _require_law(both % 2, np.array([even, 1.0 - even]), f"the lowest bit of {name}")
    _check_independence(family, first, second, scale)


def _check_integers(add: Add) -> None:
    values = np.array([0, 1, -5, 10**6, -(10**9)], dtype=np.int64)
    before = values.copy()
    # With this little noise, a change has a probability below e⁻¹⁰⁰⁰.
    found = add(values, 1e-3)
    assert found.dtype == np.int64, f"integers must come out as int64, found {found.dtype}."
    assert np.array_equal(found, values), f"noise must be added to {values}, found {found}."
    assert np.array_equal(values, before), f"the given integers must not change, found {values}."
    for shape in ((0,), (1,), (7,)):
        found = add(np.zeros(shape, dtype=np.int64), 2.0)
        assert found.shape == shape, f"noise for {shape} must keep the shape, found {found.shape}."


def _draw(add: Add, scale: float) -> Ints:
    """Draw noise around values of every size, which must not matter, and return the noise alone."""
    values = np.resize(np.array([0, 3, -1000, 10**9, -(10**12)], dtype=np.int64), N_DRAWS)
    return add(values, scale) - values


def _check_spread(family: Family, z: Ints, scale: float) -> None:
    """Compare the mean of |z|^r, which shows the scale best, with its own law.

    Tilting the law gives another of its family. Chernoff's exponent is the relative entropy of
    the one whose mean was found.
    """
    h, mean = family.rate(scale), float((np.abs(z).astype(float) ** family.power).mean())
    exponent = family.log_total(h)
    if mean:
        tilted = _rate_of(family, mean)
        exponent += mean * (h - tilted) - family.log_total(tilted)
    p_value = 2.0 * math.exp(-len(z) * max(0.0, exponent))
    assert p_value > FALSE_ALARM, (
        f"{family.name} noise of scale {scale} must have a mean |z|^{family.power} of "
        f"{family.mean_size(h)}, found {mean}: p-value {p_value:.1e}."
    )


def _rate_of(family: Family, mean: float) -> float:
    """Find by bisection the h with this mean, which falls with h."""
    low, high = 1e-30, 700.0
    for _ in range(200):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if family.mean_size(middle) > mean else (low, middle)
    return low


def _check_independence(family: Family, first: Ints, second: Ints, scale: float) -> None:
    """Compare neighbours in one call, and one place in two calls, in all pairs of four cells."""
    edges = family.edges(scale, cells=4)
    single = _probabilities(family, edges, scale)
    here, there = np.searchsorted(edges, first), np.searchsorted(edges, second)
    for what, one, other in (("coordinates", here[0::2], here[1::2]), ("calls", here, there)):
        name = f"pairs of {what} with {family.name} noise of scale {scale}"
        _require_law(one * len(single) + other, np.outer(single, single).ravel(), name)


def _probabilities(family: Family, edges: Ints, scale: float) -> Array:
    return np.diff(family.at_most(edges, scale), prepend=0.0, append=1.0)


def _require_law(cells: Ints, probabilities: Array, what: str) -> None:
    counts = np.bincount(cells, minlength=len(probabilities))
    expected = len(cells) * probabilities
    p_value = _false_alarm(counts.astype(float), expected)
    assert p_value > FALSE_ALARM, (
        f"{what} must have the exact law, found counts {counts.tolist()} where "
        f"{expected.round(1).tolist()} are expected: p-value {p_value:.1e}."
    )


def _false_alarm(counts: Array, expected: Array) -> float:
    """Bound the probability of counts at least this unlikely: (e·nK/(k−1))^(k−1)·e^(−nK).

    K is the relative entropy of the counts' shares to the k probabilities; 2nK is asymptotically
    chi-square with k−1 degrees of freedom, but this bound holds for every n.
    """
    seen = counts > 0
    divergence = float(counts[seen] @ np.log(counts[seen] / expected[seen]))
    freedom = len(counts) - 1
    if divergence <= freedom:
        return 1.0
    return math.exp(freedom * (1.0 + math.log(divergence / freedom)) - divergence)

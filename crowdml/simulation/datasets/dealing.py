"""Decide which device holds which sample: equal or unequal numbers, alike or different labels.

A person's samples are laid on a line in random order, and the line is cut into one piece per
device. Unequal devices cut pieces of unequal length; skewed ones have a line for each label, with
pieces such that each device has as many samples as without a skew. Nothing here loops over devices
or samples.
"""

import math

import numpy as np
import numpy.typing as npt

from crowdml.errors import InvalidInput
from crowdml.types import Array, Ints

LEAST_LABEL_SHARE, BALANCING_ROUNDS = 1e-9, 30
"""The least share of a label that a device wants, and how often sizes and labels are balanced."""

SMALLEST_SUM = 1e-300
"""Replaces 0, by which nothing can be divided, for devices without samples."""

LARGEST_SPREAD = 100.0
"""The largest σ: with less, one device already has all samples, and e^(7σ) must fit a float."""


def assign_devices(
    person: Ints,
    n_devices: int,
    rng: np.random.Generator,
    y: Array | None = None,
    skew: float | None = None,
    spread: float | None = None,
) -> npt.NDArray[np.int32]:
    """Return the device of each sample; devices are numbered person by person.

    A person with n samples, n_c of label c, among C labels has devices of sizes s_i: all
    alike, or with ln s_i ~ N(0, spread²). With a skew, device i has about

        n_ic = r_i·p_ic·k_c,  p_i ~ Dirichlet(skew·C·n_c/n)

    samples of label c, with r and k such that Σ_c n_ic = s_i and Σ_i n_ic = n_c: the sizes are
    those without a skew, and every sample is dealt.

    >>> rng = np.random.default_rng(0)
    >>> assign_devices(np.array([7, 7, 7, 7, 8, 8]), 3, rng).tolist()
    [0, 1, 0, 1, 2, 2]
    """
    if skew is not None and not 0 < skew < math.inf:
        raise InvalidInput(f"skew must be positive and finite, found {skew}. Use none for even.")
    if spread is not None and not 0 <= spread <= LARGEST_SPREAD:
        raise InvalidInput(f"spread must lie in 0 … {LARGEST_SPREAD:g}, found {spread}.")
    device = np.empty(len(person), dtype=np.int32)
    order = np.argsort(person, kind="stable")
    _, counts = np.unique(person, return_counts=True)
    first = 0
    owned = apportion(counts, n_devices).tolist()
    for rows, n in zip(np.split(order, np.cumsum(counts)[:-1]), owned, strict=True):
        rows = rng.permutation(rows)
        if spread is None:
            place = np.arange(len(rows)) * n // len(rows)
        else:
            place = _cut(len(rows), rng.lognormal(0.0, abs(spread), n), rng)
        if skew is not None and y is not None:
            labels = y[rows]
            rows = rows[np.argsort(labels, kind="stable")]
            _, n_c = np.unique(labels, return_counts=True)
            place = _cut_by_label(n_c, np.bincount(place, minlength=n), skew, rng)
        device[rows] = first + place
        first += n
    return device


def apportion(counts: Ints, total: int) -> Ints:
    """Apportion devices to people by their samples, at least one each (Adams's method).

    The next device goes to the person with most samples per device, until all are given. That is
    ⌈count/d⌉ devices each for the right d, which bisection finds; a few ties are left over.

    >>> apportion(np.array([10, 30, 60]), 12).tolist()
    [2, 4, 6]
    """
    few, many = float(counts.max()) + 1.0, 0.5
    while few - many > 1e-9 * few:
        d = (few + many) / 2
        if np.ceil(counts / d).sum() <= total:
            few = d
        else:
            many = d
    shares = np.ceil(counts / few).astype(np.int64)
    for _ in range(total - int(shares.sum())):
        shares[np.argmax(counts / shares)] += 1
    return shares


def _cut_by_label(n_c: Ints, sizes: Ints, skew: float, rng: np.random.Generator) -> Ints:
    """Return the piece of each sample, where samples are sorted by label and n_c have label c."""
    wanted = rng.dirichlet(skew * len(n_c) * n_c / n_c.sum(), size=len(sizes)) + LEAST_LABEL_SHARE
    for _ in range(BALANCING_ROUNDS):
        wanted *= (sizes / np.maximum(wanted.sum(axis=1), SMALLEST_SUM))[:, None]
        wanted *= n_c / wanted.sum(axis=0)
    place = np.concatenate([_cut(n, wanted[:, c], rng) for c, n in enumerate(n_c.tolist())])
    return _resized(place, sizes, rng)


def _resized(place: Ints, sizes: Ints, rng: np.random.Generator) -> Ints:
    """Move random samples from pieces that are too large to pieces that are too small.

    Whole samples of each label differ by a few from the sizes, since each label is rounded alone.
    """
    order = rng.permutation(len(place))
    order = order[np.argsort(place[order], kind="stable")]
    counts = np.bincount(place, minlength=len(sizes))
    nth = np.arange(len(place)) - np.repeat(np.cumsum(counts) - counts, counts)
    surplus = order[nth >= np.repeat(sizes, counts)]
    place = place.copy()
    place[rng.permutation(surplus)] = np.repeat(
        np.arange(len(sizes)), np.maximum(sizes - counts, 0)
    )
    return place


def _cut(n: int, weights: Array, rng: np.random.Generator) -> Ints:
    """Return the piece in which each of n places lies, for pieces as long as their weights.

    One random offset moves all cuts, so that each piece has its exact length in the mean and is
    never off by one place or more.
    """
    ends = np.cumsum(weights)
    if ends[-1] == 0:  # the weights of all devices for this label underflowed
        ends = np.arange(1.0, len(weights) + 1.0)
    cuts = np.minimum(np.floor(ends / ends[-1] * n + rng.random()), n).astype(np.int64)
    cuts[-1] = n
    return np.repeat(np.arange(len(weights)), np.diff(cuts, prepend=0))

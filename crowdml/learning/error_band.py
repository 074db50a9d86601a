"""Estimate the error of the exported model as it is now, from reports about earlier versions."""

import math

import numpy as np

from crowdml.learning.totals import TWO_SIDED_95
from crowdml.protocol import Estimate
from crowdml.types import Array, Ints

LOG_VERSION_SPAN = 1.0
"""Reports about versions up to t/e are used, where t is the version now."""

BINS = 12
"""Reports less than LOG_VERSION_SPAN/BINS apart in log-version count as about the same model."""

GAIN, TREND = 0.5, 0.7
"""How an error p changes while log-version grows by 1, in units of p(1 − p): it falls by a trend of
GAIN on average, with a standard deviation of TREND, and walks at random besides. A model that
learns improves: without GAIN, reports about older versions make its error seem too large."""

WALK_SIZES, WALK_PROBABILITIES = np.array([0.05, 0.15, 0.35, 0.7]), np.array([0.2, 0.25, 0.35, 0.2])
"""The standard deviations of that walk, in the same units, and how likely each of them is before
any report: some models hardly change any more, others jump. Many reports show which it is."""

WALK_SIZE = float(np.sqrt(WALK_PROBABILITIES @ WALK_SIZES**2))
"""The size of the walk that is assumed where reports do not show it."""

ASSUMED_ALIKENESS, ASSUMED_ALIKENESS_DEVIATION = 0.25, 0.25
"""How alike the answers of one device are assumed to be, before its reports say more."""

VERY_ALIKE = 0.5
"""The uncertainty about how alike the answers are is computed at this value: a few devices that
differ very much often look as if they differed little."""

WIDEST_BAND = 0.4
"""A band that reaches this far from its middle says nothing, so none is given. The reach is
computed at an error of one half: otherwise errors would be shown that are small by accident."""

PRIOR_SAMPLES = 4.0
"""Added samples, of which half are wrong, so that no estimated error is 0 or 1."""


def current_error(
    rows: Array, version: int, noise_variance: float, expected: bool = False
) -> Estimate | None:
    """Estimate the error of the exported model at this version, with a 95 % band.

    A report about an earlier version v describes a model whose error has changed since by an
    unknown amount f(s), s = log((t + 1)/(v + 1)). f is modelled as a trend and a random walk, both
    in proportion to p(1 − p); the reports show how far it walks. The mean of f is subtracted from
    the reports. The estimate is the weighted mean Σaᵢyᵢ of the rest, with the smallest variance
    under that model, and the variance of Σaᵢf(sᵢ) is part of the band. The other parts of the
    variance are the noise of the mechanism, the sampling of predictions, and differences between
    people: a share ρ of p(1 − p) lies between devices. The band has all p with (Σaᵢyᵢ − p)² ≤
    q²·variance(p). q is Student's quantile, because the variance between devices is estimated from
    few devices. The result is None if the band would say almost nothing.

    Args:
        rows: A row for each report: version, device, errors, predictions, and how many reports
            were added up in it.
        version: t.
        noise_variance: The variance of the noise in the errors of one report.
        expected: Whether the reports are expected values without randomness, which do not show how
            far the error walks.

    References: G. Matheron, Economic Geology 58 (1963); E. B. Wilson, JASA 22 (1927); F. E.
    Satterthwaite, Biometrics Bulletin 2 (1946).
    """
    s = np.log((version + 1) / (rows[:, 0] + 1))
    near = s <= LOG_VERSION_SPAN
    s, device, errors, n, reports = s[near], *rows[near, 1:].T
    if not len(s):
        return None
    y, noise = errors / n, reports * noise_variance / n**2
    _, device = np.unique(device, return_inverse=True)
    weight = 1 / (noise + 0.25 / n)
    p = (weight @ y + PRIOR_SAMPLES / 2 * 4) / (weight.sum() + PRIOR_SAMPLES * 4)
    p = min(max(p, 0.02), 0.98)
    pq = p * (1 - p)
    y = y - GAIN * pq * s
    residual = y - _line(s, y, weight, pq)
    alike = _alike(device, n, n * residual, n**2 * noise, pq)
    _, spread, rest, quantile = _weighted(s, None, device, n, noise, alike, 0.25)
    if quantile * math.sqrt(rest + spread / 4) >= WIDEST_BAND:
        return None
    a, spread, rest, quantile = _weighted(s, None if expected else y, device, n, noise, alike, pq)
    return _band(float(a @ y), spread, rest, quantile)


def _weighted(
    s: Array, y: Array | None, device: Ints, n: Array, noise: Array, alike: float, pq: float
) -> tuple[Array, float, float, float]:
    """Return the weights of the reports, their mean's variance spread·p(1 − p) + rest, and q.

    Where y is None, only the number of reports is used, not what they say.
    """
    of_device = np.bincount(device, n)[device]
    a, drift = _weights(s, y, 1 / (noise + pq * ((1 - alike) / n + alike * of_device / n)), pq)
    squares = np.bincount(device, a) ** 2
    between, rest = alike * squares.sum(), float(a @ (a * noise) + drift)
    spread = float((1 - alike) * (a @ (a / n)) + between)
    share = between / (spread + rest / pq)
    devices = squares.sum() ** 2 / (squares @ squares)
    return a, spread, rest, student_95(share**2 / devices)


def student_95(per_degree: float) -> float:
    """Return Student's two-sided 95 % quantile for 1/`per_degree` degrees of freedom, at least two.

    Reference: E. A. Cornish and R. A. Fisher, Revue de l'Institut International de Statistique 5
    (1938).

    >>> [round(student_95(1 / degrees), 2) for degrees in (3, 5, 10, 30)]
    [3.16, 2.57, 2.23, 2.04]
    """
    z, g = TWO_SIDED_95, min(per_degree, 0.5)
    first, second = (z**3 + z) / 4, (5 * z**5 + 16 * z**3 + 3 * z) / 96
    third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    return float(z + first * g + second * g**2 + third * g**3)


def _line(s: Array, y: Array, weight: Array, pq: float) -> Array:
    """Fit a straight line to the reports, with a slope of at most TREND."""
    middle = weight @ s / weight.sum()
    slope = weight @ ((s - middle) * y) / (weight @ (s - middle) ** 2 + 1 / (TREND * pq) ** 2)
    return np.asarray(weight @ y / weight.sum() + slope * (s - middle))


def _alike(device: Ints, n: Array, surplus: Array, noise: Array, pq: float) -> float:
    """Estimate ρ, the share of p(1 − p) that lies between devices, plus one standard deviation.

    The surplus of a device with n predictions has the variance noise + p(1 − p)(n + ρ(n² − n)).
    """
    surplus, noise, n = (
        np.bincount(device, each).astype(np.float64) for each in (surplus, noise, n)
    )
    alone, pairs = noise + pq * n, pq * (n**2 - n)
    if not pairs.any():
        return 0.0  # every device has one prediction
    found = (surplus**2 - alone).sum() / pairs.sum()
    deviation = math.sqrt(2 * ((alone + VERY_ALIKE * pairs) ** 2).sum()) / pairs.sum()
    doubt = 1 / (deviation**-2 + ASSUMED_ALIKENESS_DEVIATION**-2)
    mean = doubt * (found / deviation**2 + ASSUMED_ALIKENESS / ASSUMED_ALIKENESS_DEVIATION**2)
    return float(min(max(mean, 0.0) + math.sqrt(doubt), 1.0))


def _weights(s: Array, y: Array | None, weight: Array, pq: float) -> tuple[Array, float]:
    """Return the weight of each report in the estimate, and the variance of the drift in it."""
    place = np.minimum((s * (BINS / LOG_VERSION_SPAN)).astype(np.int64), BINS - 1)
    total = np.bincount(place, weight, BINS)
    used = total > 0
    middle = np.bincount(place, weight * s, BINS)[used] / total[used]
    trend = (TREND * pq) ** 2 * np.outer(middle, middle)
    walk, noise = pq**2 * np.minimum.outer(middle, middle), np.diag(1 / total[used])
    walk_size = WALK_SIZE
    if y is not None:
        found = np.bincount(place, weight * y, BINS)[used] / total[used]
        walk_size = _walk_size(found, trend + noise, walk)
    drift = trend + walk_size**2 * walk
    best = np.linalg.solve(drift + noise, np.ones(len(middle)))
    best /= best.sum()
    share = np.zeros(BINS)
    share[used] = best / total[used]
    return share[place] * weight, float(best @ drift @ best)


def _walk_size(found: Array, rest: Array, walk: Array) -> float:
    """Estimate how far the error walks, from reports about some versions.

    The result is the root of the mean of c², weighted by the posterior probability of each c of
    WALK_SIZES, where `found` is normal with an unknown mean and the variance `rest` + c²·`walk`.

    Reference: H. D. Patterson and R. Thompson, Biometrika 58 (1971).
    """
    variance = rest + WALK_SIZES[:, None, None] ** 2 * walk
    ones = np.ones_like(found)
    known = np.linalg.solve(variance, np.stack([ones, found], axis=1)[None])
    weight, mean = ones @ known[..., 0].T, ones @ known[..., 1].T
    squares = found @ known[..., 1].T - mean**2 / weight
    likely = -(np.linalg.slogdet(variance)[1] + np.log(weight) + squares) / 2
    probabilities = WALK_PROBABILITIES * np.exp(likely - likely.max())
    return float(np.sqrt(probabilities @ WALK_SIZES**2 / probabilities.sum()))


def _band(value: float, spread: float, rest: float, quantile: float) -> Estimate:
    """Solve (value − p)² ≤ q²·(rest + spread·p(1 − p)) for p; return middle and half width."""
    width = quantile**2 * spread
    middle = (value + width / 2) / (1 + width)
    square = middle**2 - (value**2 - quantile**2 * rest) / (1 + width)
    return Estimate(middle, math.sqrt(max(square, 0.0)))

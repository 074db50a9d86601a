"""The exact noise passes the conformance suite; its scale, variance and tail are exact."""

import math
from contextlib import nullcontext

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from crowdml.checks import check_noise_source
from crowdml.checks import noise as suite
from crowdml.privacy import (
    ExactNoise,
    NoiseSource,
    laplace_scale,
    laplace_tail,
    laplace_variance,
)
from crowdml.privacy.noise import _measurement
from crowdml.types import Ints
from tests.privacy import law
from tests.privacy.pseudo import Pseudo


def test_exact_noise_conforms() -> None:
    """False-positive rate below 1e-8, see `check_noise_source`."""
    check_noise_source(ExactNoise())


class Wider(Pseudo):
    factor = 1.06

    def draw(self, shape: tuple[int, ...], scale: float) -> Ints:
        return super().draw(shape, scale * self.factor)


class Narrower(Wider):
    factor = 0.94


class Deviation(Wider):
    """Takes the scale for a standard deviation."""

    factor = 1 / math.sqrt(2)


class Variance(Pseudo):
    def draw(self, shape: tuple[int, ...], scale: float) -> Ints:
        return super().draw(shape, max(math.sqrt(scale), 0.1))


class RoundedFloats(Pseudo):
    """Continuous Laplace noise rounded: nearly the law at large scales, not at small ones."""

    def draw(self, shape: tuple[int, ...], scale: float) -> Ints:
        return np.rint(self.rng.laplace(scale=scale, size=shape)).astype(np.int64)


class EvenOnly(Pseudo):
    """The right spread with a dead lowest bit, at large scales only."""

    def draw(self, shape: tuple[int, ...], scale: float) -> Ints:
        z = super().draw(shape, scale)
        return z if scale < 1000 else z // 2 * 2


class Biased(Pseudo):
    def draw(self, shape: tuple[int, ...], scale: float) -> Ints:
        return super().draw(shape, scale) + 2 * int(scale > 20)


class SameForPairs(Pseudo):
    def draw(self, shape: tuple[int, ...], scale: float) -> Ints:
        return np.resize(np.repeat(super().draw(shape, scale), 2), shape)


class Reseeded(Pseudo):
    def draw(self, shape: tuple[int, ...], scale: float) -> Ints:
        self.rng = np.random.default_rng(21)
        return super().draw(shape, scale)


class OneForAll(Pseudo):
    """Forgets the noise of large values."""

    def add_laplace(self, values: Ints, scale: float) -> Ints:
        return np.where(np.abs(values) > 10**6, values, super().add_laplace(values, scale))


class Floats(Pseudo):
    def add_laplace(self, values: Ints, scale: float) -> Ints:
        found: Ints = super().add_laplace(values, scale).astype(np.float64)
        return found


class InPlace(Pseudo):
    def add_laplace(self, values: Ints, scale: float) -> Ints:
        out = super().add_laplace(values, scale)
        values += 1
        return out


def test_suite_accepts_a_correct_source() -> None:
    check_noise_source(Pseudo())


@pytest.mark.parametrize(
    ("noise", "complaint"),
    [
        (Wider(), "noise of scale"),
        (Narrower(), "noise of scale"),
        (Deviation(), "noise of scale 0.7"),
        (Variance(), "noise of scale"),
        (RoundedFloats(), "noise of scale 0.7"),
        (EvenOnly(), "lowest bit"),
        (Biased(), "noise of scale 25"),
        (SameForPairs(), "pairs of coordinates"),
        (Reseeded(), "pairs of calls"),
        (OneForAll(), "noise of scale"),
        (Floats(), "int64, found float64"),
        (InPlace(), "must be added|must not change"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_suite_finds_planted_fault(noise: NoiseSource, complaint: str) -> None:
    """The seed is fixed, so this is not a matter of chance."""
    with pytest.raises(AssertionError, match=complaint):
        check_noise_source(noise)


@pytest.mark.parametrize("cells", [2, 5, 16, 40])
def test_suites_level_is_never_optimistic(cells: int) -> None:
    """The finite-sample bound lies above the asymptotic chi-square probability."""
    rng = np.random.default_rng(1)
    expected = np.full(cells, 1e5)
    for size in (0.5, 1.0, 2.0, 4.0):
        counts = expected + size * 300 * rng.permutation(np.linspace(-1, 1, cells))
        statistic = 2.0 * float(np.sum(counts * np.log(counts / expected)))
        asymptotic = stats.chi2.sf(statistic, cells - 1)
        assert suite._false_alarm(counts, expected) >= asymptotic


@pytest.mark.parametrize("scale", [0.7, 3.3, 25.0])
def test_suites_spread_is_chernoffs(scale: float) -> None:
    """The closed form against the exponent maximised numerically from the law itself."""
    last = math.ceil(80 * scale)
    sizes = np.arange(last + 1)
    weights = np.array([law.probability(int(z), scale) * (2 if z else 1) for z in sizes])
    mean = float(sizes @ weights)
    for factor in (0.97, 1.03):
        target = factor * mean
        tilts = np.linspace(-0.5, 0.5, 4001) / scale
        with np.errstate(over="ignore"):
            moments = np.array([np.log(np.exp(t * sizes) @ weights) for t in tilts])
        exponent = float((tilts * target - moments).max())
        for n, refused in ((1.02, True), (0.98, False)):
            count = round(n * math.log(2e10) / exponent)
            z = _with_mean(target, count)
            with pytest.raises(AssertionError, match="size") if refused else nullcontext():
                suite._check_spread(z, scale)


def _with_mean(mean: float, n: int) -> Ints:
    """Any integers do: only the mean of their sizes is looked at."""
    z = np.zeros(n, dtype=np.int64)
    z[0] = round(mean * n)
    return z


@pytest.mark.parametrize("scale", [0.3, 0.7, 3.3, 25.0, 400.0])
def test_variance(scale: float) -> None:
    last = math.ceil(60 * scale) + 2
    expected = 2.0 * math.fsum(z * z * law.probability(z, scale) for z in range(last, 0, -1))
    assert laplace_variance(scale) == pytest.approx(expected, rel=1e-9)


def test_variance_at_large_scales() -> None:
    """2s² − 1/6 + O(1/s²), from the series of 1/(2·sinh²(1/2s))."""
    for scale in (1e4, 2.0**20):
        assert laplace_variance(scale) == pytest.approx(2 * scale**2 - 1 / 6, rel=1e-9)


@pytest.mark.parametrize("scale", [0.3, 0.7, 3.3, 25.0, 400.0])
@pytest.mark.parametrize("probability", [0.9, 0.5, 0.01, 1e-9, 1e-12])
def test_tail_is_the_least(scale: float, probability: float) -> None:
    k = laplace_tail(scale, probability)
    assert law.tail(k, scale) <= probability * (1 + 1e-9)
    assert k == 0 or law.tail(k - 1, scale) > probability * (1 - 1e-9)


@settings(deadline=None, max_examples=200)
@given(st.integers(1, 10**9), st.floats(1e-4, 1e3))
def test_opendp_certifies_the_scale(sensitivity: int, epsilon: float) -> None:
    """And would not certify the next smaller one: the noise is no larger than needed."""
    scale = laplace_scale(sensitivity, epsilon)
    assert _measurement(scale).map(sensitivity) <= epsilon
    assert _measurement(math.nextafter(scale, 0.0)).map(sensitivity) > epsilon
    assert scale == pytest.approx(sensitivity / epsilon, rel=1e-15)


@pytest.mark.parametrize(
    ("sensitivity", "epsilon", "scale"), [(1, 0.05, 20.0), (2, 0.05, 40.0), (7, 3.5, 2.0)]
)
def test_scale_is_sensitivity_over_epsilon(sensitivity: int, epsilon: float, scale: float) -> None:
    assert laplace_scale(sensitivity, epsilon) == pytest.approx(scale, rel=1e-15)

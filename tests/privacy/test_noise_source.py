"""Test that the exact noise passes the conformance suite, which finds planted faults."""

import math
from collections.abc import Callable
from contextlib import nullcontext

import numpy as np
import pytest
from scipy import stats

from crowdml.checks import check_noise_source
from crowdml.checks import noise as suite
from crowdml.checks.families import FAMILIES, Family
from crowdml.privacy import ExactNoise, NoiseSource
from crowdml.types import Ints
from tests.privacy import law
from tests.privacy.seeded_chance import SeededChance

Draw = Callable[[tuple[int, ...], float], Ints]


def test_exact_noise_conforms() -> None:
    """Check the exact noise.

    False-positive rate below 1e-8, see `check_noise_source`.
    """
    check_noise_source(ExactNoise())


def test_suite_accepts_a_correct_source() -> None:
    check_noise_source(SeededChance())


class Faulty(SeededChance):
    """Draw noise with one fault in one of the laws, and none in the other."""

    def __init__(self, law: str, fault: "type[Fault]") -> None:
        super().__init__()
        setattr(self, law, fault(getattr(self, law), self))


class Fault:
    factor = 1.0

    def __init__(self, draw: Draw, source: SeededChance) -> None:
        self.draw, self.source = draw, source

    def __call__(self, shape: tuple[int, ...], scale: float) -> Ints:
        return self.draw(shape, scale * self.factor)


class Wider(Fault):
    factor = 1.06


class Narrower(Fault):
    factor = 0.94


class Deviation(Fault):
    """Confuse the scale with a standard deviation, or the other way round."""

    factor = 1 / math.sqrt(2)


class Variance(Fault):
    def __call__(self, shape: tuple[int, ...], scale: float) -> Ints:
        return self.draw(shape, max(math.sqrt(scale), 0.1))


class RoundedFloats(Fault):
    """Round continuous noise: nearly the law at large scales, but not at small ones."""

    def __call__(self, shape: tuple[int, ...], scale: float) -> Ints:
        rng, gaussian = self.source.rng, self.draw.__name__ == "gaussian"
        z = (rng.normal if gaussian else rng.laplace)(scale=scale, size=shape)
        return np.rint(z).astype(np.int64)


class EvenOnly(Fault):
    """Draw the right spread with a constant lowest bit, at large scales only."""

    def __call__(self, shape: tuple[int, ...], scale: float) -> Ints:
        z = self.draw(shape, scale)
        return z if scale < 1000 else z // 2 * 2


class Biased(Fault):
    def __call__(self, shape: tuple[int, ...], scale: float) -> Ints:
        return self.draw(shape, scale) + 2 * int(scale > 20)


class SameForPairs(Fault):
    def __call__(self, shape: tuple[int, ...], scale: float) -> Ints:
        return np.resize(np.repeat(self.draw(shape, scale), 2), shape)


class Reseeded(Fault):
    def __call__(self, shape: tuple[int, ...], scale: float) -> Ints:
        self.source.rng = np.random.default_rng(21)
        return self.draw(shape, scale)


class OtherLaw(Fault):
    """Swap Gauss and Laplace, keeping the right variance."""

    def __call__(self, shape: tuple[int, ...], scale: float) -> Ints:
        if self.draw.__name__ == "gaussian":
            return SeededChance().laplace(shape, scale / math.sqrt(2))
        return SeededChance().gaussian(shape, scale * math.sqrt(2))


@pytest.mark.parametrize("name", ["laplace", "gaussian"])
@pytest.mark.parametrize(
    ("fault", "complaint"),
    [
        (Wider, "{} noise of scale"),
        (Narrower, "{} noise of scale"),
        (Deviation, "{} noise of scale 0.7"),
        (Variance, "{} noise of scale"),
        (RoundedFloats, "{} noise of scale 0.7"),
        (EvenOnly, "lowest bit of {}"),
        (Biased, "{} noise of scale 25"),
        (SameForPairs, "pairs of coordinates with {}"),
        (Reseeded, "pairs of calls with {}"),
        (OtherLaw, "{} noise of scale 0.7"),
    ],
)
def test_suite_finds_planted_fault(name: str, fault: type[Fault], complaint: str) -> None:
    """Check that the suite fails; the seed is fixed, so the result is not random."""
    with pytest.raises(AssertionError, match=complaint.format(name)):
        check_noise_source(Faulty(name, fault))


class OneForAll(SeededChance):
    """Add no noise to large values."""

    def add_gaussian(self, values: Ints, scale: float) -> Ints:
        return np.where(np.abs(values) > 10**6, values, super().add_gaussian(values, scale))


class Floats(SeededChance):
    def add_laplace(self, values: Ints, scale: float) -> Ints:
        found: Ints = super().add_laplace(values, scale).astype(np.float64)
        return found


class InPlace(SeededChance):
    def add_gaussian(self, values: Ints, scale: float) -> Ints:
        out = super().add_gaussian(values, scale)
        values += 1
        return out


@pytest.mark.parametrize(
    ("noise", "complaint"),
    [
        (OneForAll(), "gaussian noise of scale"),
        (Floats(), "int64, found float64"),
        (InPlace(), "must be added|must not change"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_suite_looks_at_the_values_too(noise: NoiseSource, complaint: str) -> None:
    with pytest.raises(AssertionError, match=complaint):
        check_noise_source(noise)


@pytest.mark.parametrize("cells", [2, 5, 16, 40])
def test_suites_level_is_never_optimistic(cells: int) -> None:
    """Check that the finite-sample bound lies above the asymptotic chi-square probability."""
    rng = np.random.default_rng(1)
    expected = np.full(cells, 1e5)
    for size in (0.5, 1.0, 2.0, 4.0):
        counts = expected + size * 300 * rng.permutation(np.linspace(-1, 1, cells))
        statistic = 2.0 * float(np.sum(counts * np.log(counts / expected)))
        asymptotic = stats.chi2.sf(statistic, cells - 1)
        assert suite._false_alarm(counts, expected) >= asymptotic


FAMILY = pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
SCALE = pytest.mark.parametrize("scale", [0.3, 0.7, 1.9, 3.3, 25.0])


@FAMILY
@SCALE
def test_suites_law_is_the_definition(family: Family, scale: float) -> None:
    last = math.ceil(40 * scale) + 1
    z = np.arange(-last, last + 1)
    each = np.array([law.probability(int(v), scale, family.power) for v in z])
    steps = np.diff(family.at_most(z, scale), prepend=family.at_most(z[:1] - 1, scale))
    assert steps == pytest.approx(each, rel=1e-9, abs=1e-13)
    assert family.even(scale) == pytest.approx(each[z % 2 == 0].sum(), rel=1e-9)
    mean = float((np.abs(z).astype(float) ** family.power) @ each)
    assert family.mean_size(family.rate(scale)) == pytest.approx(mean, rel=1e-9)
    h, step = family.rate(scale), 1e-5
    slope = (family.log_total(h * (1 + step)) - family.log_total(h * (1 - step))) / (2 * h * step)
    assert family.mean_size(h) == pytest.approx(-slope, rel=1e-4, abs=1e-9)


@FAMILY
def test_suites_law_is_smooth_where_it_changes_its_formula(family: Family) -> None:
    edges = np.array([-400, -1, 0, 250])
    below, above = family.at_most(edges, 300.0), family.at_most(edges, 300.0001)
    assert below == pytest.approx(above, abs=2e-6)
    for formula in (family.log_total, family.mean_size):
        assert formula(0.1 - 1e-12) == pytest.approx(formula(0.1 + 1e-12), rel=1e-9)


@FAMILY
@pytest.mark.parametrize("scale", [0.7, 3.3, 25.0])
def test_suites_spread_is_chernoffs(family: Family, scale: float) -> None:
    """Compare the closed form with the exponent maximised numerically from the law itself."""
    z = np.arange(math.ceil((80 if family.power == 1 else 14) * scale) + 1)
    sizes = z.astype(float) ** family.power
    each = [law.probability(int(v), scale, family.power) * (2 if v else 1) for v in z]
    weights = np.array(each)
    mean = float(sizes @ weights)
    for factor in (0.97, 1.03):
        target = factor * mean
        tilts = np.linspace(-0.5, 0.5, 4001) * family.rate(scale)
        moments = np.array([np.log(np.exp(t * sizes) @ weights) for t in tilts])
        exponent = float((tilts * target - moments).max())
        for n, rejected in ((1.02, True), (0.98, False)):
            found = _with_mean(target, round(n * math.log(2e10) / exponent), family.power)
            with pytest.raises(AssertionError, match="mean") if rejected else nullcontext():
                suite._check_spread(family, found, scale)


def _with_mean(mean: float, n: int, power: int) -> Ints:
    """Make integers whose sizes have this mean; nothing else about them matters."""
    z, left = np.zeros(n, dtype=np.int64), mean * n
    for i in range(n):
        z[i] = int(left ** (1 / power))
        left -= float(z[i]) ** power
    return z

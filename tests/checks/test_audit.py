"""The audit passes what is right, finds what is wrong, and its bounds are those of the law."""

import math

import numpy as np
import pytest
from scipy import stats

from crowdml.checks import audit
from crowdml.checks.audit import Finding, audit_sanitizer, epsilon_lower_bound
from crowdml.privacy import ExactNoise
from crowdml.types import Array, Ints
from tests.privacy.pseudo import Pseudo
from tests.privacy.spy import Spy


def test_exact_noise_passes() -> None:
    """False-positive rate below 7e-9: `FALSE_ALARM` for three parts, then four, of the two cases.

    The audit has teeth all the same. For the gradient to prove less than 0.25 of its 1.8, an event
    of probability e⁻¹·⁸/2 = 0.08 must be seen in 20 % of 750 trials: 11 deviations.
    """
    found = audit_sanitizer(epsilon=3.0, trials=3000, noise=ExactNoise())
    assert found.passed
    claims = {part: finding.claimed for part, finding in found.parts.items()}
    # Without labels a check-in costs 2.4, with them 3; the pair that proves more is shown.
    assert claims.pop("checkin") in (pytest.approx(2.4), pytest.approx(3.0))
    assert claims == pytest.approx({"gradient": 1.8, "errors": 0.6, "labels": 0.6})
    assert found.parts["gradient"].lower_bound > 0.25


class Halved(Pseudo):
    """Half the scale, so twice the ε."""

    def add_laplace(self, values: Ints, scale: float) -> Ints:
        return super().add_laplace(values, scale / 2)


class HalvedCounts(Pseudo):
    """Wrong for the counts only: noise of the gradient is a million steps wide."""

    def add_laplace(self, values: Ints, scale: float) -> Ints:
        return super().add_laplace(values, scale if scale > 1000 else scale / 2)


class HalvedGradient(Pseudo):
    def add_laplace(self, values: Ints, scale: float) -> Ints:
        return super().add_laplace(values, scale / 2 if scale > 1000 else scale)


@pytest.mark.parametrize(
    ("make", "wrong"),
    [
        (Halved, {"gradient", "errors"}),
        (HalvedCounts, {"errors"}),
        (HalvedGradient, {"gradient"}),
    ],
)
def test_finds_planted_fault(make: type[Pseudo], wrong: set[str]) -> None:
    """And says where. The generator is seeded, so the findings are the same every time.

    Labels and the whole are left out: what they prove here is close to what they claim.
    """
    found = audit_sanitizer(epsilon=3.0, trials=8000, noise=make())
    assert not found.passed
    failed = {part for part, finding in found.parts.items() if not finding.passed}
    assert failed - {"labels", "checkin"} == wrong


def test_finds_missing_noise_everywhere() -> None:
    found = audit_sanitizer(epsilon=3.0, trials=2000, noise=Spy())
    assert set(found.parts) == {"gradient", "errors", "labels", "checkin"}
    assert not any(finding.passed for finding in found.parts.values())


def test_same_law_from_another_generator_passes() -> None:
    assert audit_sanitizer(epsilon=3.0, trials=8000, noise=Pseudo()).passed


def test_progress_counts_every_trial() -> None:
    done: list[int] = []
    audit_sanitizer(trials=10, noise=Spy(), progress=done.append)
    assert done == list(range(1, 11))


def test_finding_at_the_claim_passes() -> None:
    assert Finding(claimed=1.0, lower_bound=1.0).passed
    assert not Finding(claimed=1.0, lower_bound=math.nextafter(1.0, 2.0)).passed


def answers(share: float, n: int) -> Array:
    """Zeros and a share of ones, the same in both halves of the sample."""
    half = (np.arange(n // 2) < round(share * (n // 2))).astype(float)
    return np.concatenate([half, half])


def laplace(centre: float, scale: float, n: int) -> Array:
    """The quantiles of the Laplace law, the same in both halves of the sample."""
    half = stats.laplace.ppf((np.arange(n // 2) + 0.5) / (n // 2), centre, scale)
    return np.concatenate([half, half])


@pytest.mark.parametrize(("p", "q"), [(0.75, 0.25), (0.5, 0.1), (0.9, 0.5), (0.99, 0.9)])
def test_bound_of_randomized_response(p: float, q: float) -> None:
    """ε is the larger of log p/q and log (1−q)/(1−p), approached from below."""
    epsilon = max(math.log(p / q), math.log((1 - q) / (1 - p)))
    bounds = [epsilon_lower_bound(answers(p, n), answers(q, n)) for n in (400, 20_000, 2_000_000)]
    assert 0.0 <= bounds[0] < bounds[1] < bounds[2] < epsilon
    assert bounds[2] > 0.95 * epsilon


@pytest.mark.parametrize("epsilon", [0.25, 1.0, 3.0])
def test_bound_of_the_laplace_law(epsilon: float) -> None:
    """Of the score {output ≤ 0 rather than 1}, which reaches ε below both centres."""
    a, b = (-laplace(centre, 1 / epsilon, 1_000_000) for centre in (0.0, 1.0))
    assert 0.9 * epsilon < epsilon_lower_bound(a, b) < epsilon


@pytest.mark.parametrize("epsilon", [0.0, 0.25, 1.0])
def test_same_law_proves_nothing(epsilon: float) -> None:
    same = laplace(epsilon, 1.0, 4000)
    assert epsilon_lower_bound(same, same) == 0.0


@pytest.mark.parametrize("n", [2, 20, 2000])
@pytest.mark.parametrize("false_alarm", [1e-9, 1e-2])
def test_bound_of_certain_answers(n: int, false_alarm: float) -> None:
    """All of n/2 against none: the limits are m^(2/n) and 1 − m^(2/n), in closed form."""
    low = (false_alarm / 2) ** (2 / n)
    found = epsilon_lower_bound(np.ones(n), np.zeros(n), false_alarm)
    assert found == pytest.approx(max(0.0, math.log(low / (1 - low))), rel=1e-9)


@pytest.mark.parametrize(("p", "q"), [(0.75, 0.25), (0.5, 0.1), (0.9, 0.6), (0.5, 0.5)])
@pytest.mark.parametrize("false_alarm", [0.3, 0.1, 0.01])
def test_false_alarms_are_as_rare_as_stated(p: float, q: float, false_alarm: float) -> None:
    """Summed over every outcome of two binomial laws, with no sampling."""
    n = 25
    epsilon = max(math.log(p / q), math.log((1 - q) / (1 - p)))
    seen = np.arange(n + 1)
    chances = np.outer(stats.binom.pmf(seen, n, p), stats.binom.pmf(seen, n, q))
    ones = [(np.arange(n) < k).astype(float) for k in seen]
    alarms = [[audit._proved(a, b, 0.5, false_alarm) > epsilon for b in ones] for a in ones]
    assert float(chances[np.array(alarms)].sum()) <= false_alarm


def test_binomial_bounds_are_clopper_pearson() -> None:
    """At each bound the tail of the law is exactly the chance of missing."""
    low, high = audit._binomial_bounds(7, 40, 0.01)
    assert stats.binom.sf(6, 40, low) == pytest.approx(0.01)
    assert stats.binom.cdf(7, 40, high) == pytest.approx(0.01)
    assert audit._binomial_bounds(0, 40, 0.01)[0] == 0.0
    assert audit._binomial_bounds(40, 40, 0.01)[1] == 1.0

"""Test that a bound is rarely more than the truth, at a stated rate, and not much less."""

import math
from typing import TypeVar

import numpy as np
import pytest
from scipy import stats

from crowdml.checks.lower_bounds import (
    Measure,
    ScoreEvent,
    binomial_bounds,
    concentrated,
    lower_bound,
    lower_bound_of_numbers,
    most_provable,
    pure,
    scores_needed,
)
from crowdml.types import Array, Ints

N = TypeVar("N", Array, Ints)


def mixed(values: N) -> N:
    """Order the values so that every part of the sample looks like the whole."""
    return values[np.argsort(np.arange(len(values)) * 0.6180339887498949 % 1.0)]


def answers(share: float, n: int) -> Array:
    return mixed((np.arange(n) < round(share * n)).astype(float))


def quantiles(law: stats.rv_continuous, centre: float, scale: float, n: int) -> Array:
    return mixed(law.ppf((np.arange(n) + 0.5) / n, centre, scale))


@pytest.mark.parametrize(("p", "q"), [(0.75, 0.25), (0.5, 0.1), (0.9, 0.5), (0.99, 0.9)])
def test_bound_of_randomized_response(p: float, q: float) -> None:
    """Approach ε, the larger of log p/q and log (1−q)/(1−p), from below."""
    epsilon = max(math.log(p / q), math.log((1 - q) / (1 - p)))
    bounds = [lower_bound(answers(p, n), answers(q, n)) for n in (400, 20_000, 200_000)]
    assert 0.0 <= bounds[0] < bounds[1] < bounds[2] < epsilon
    assert bounds[2] > 0.85 * epsilon


@pytest.mark.parametrize("epsilon", [0.25, 1.0, 3.0])
def test_bound_of_the_laplace_law(epsilon: float) -> None:
    """Check the score {output ≤ 0 rather than 1}, which reaches ε below both centres."""
    a, b = (-quantiles(stats.laplace, centre, 1 / epsilon, 60_000) for centre in (0.0, 1.0))
    assert 0.8 * epsilon < lower_bound(a, b) < epsilon


@pytest.mark.parametrize("mu", [0.5, 1.0, 2.0, 4.0])
def test_bound_of_the_gaussian_law(mu: float) -> None:
    """Check normal laws of deviation 1 that are μ apart: ρ = μ²/2 is approached, not passed."""
    a, b = (quantiles(stats.norm, centre, 1.0, 100_000) for centre in (mu, 0.0))
    assert 0.5 * mu**2 / 2 < lower_bound(a, b, concentrated) < mu**2 / 2


@pytest.mark.parametrize("measure", [pure, concentrated])
def test_same_law_proves_nothing(measure: Measure) -> None:
    same = quantiles(stats.laplace, 0.0, 1.0, 4000)
    assert lower_bound(same, same, measure) == 0.0


@pytest.mark.parametrize(("p", "q"), [(0.75, 0.25), (0.5, 0.1), (0.9, 0.05), (1.0, 0.5)])
def test_measures_by_definition(p: float, q: float) -> None:
    """Compare Rényi's divergence of two coins, over its order, with the formula on a fine grid."""
    found = [
        math.log(p**o * q ** (1 - o) + (1 - p) ** o * (1 - q) ** (1 - o)) / (o - 1) / o
        for o in np.linspace(1.01, 100, 20_000)
    ]
    assert concentrated(p, q) == pytest.approx(max(found), rel=1e-2)
    assert concentrated(p, q) <= max(found) * (1 + 1e-9)
    assert pure(p, q) == pytest.approx(math.log(p / q))
    assert concentrated(q, p) == -math.inf
    assert pure(0.0, 0.1) == -math.inf


@pytest.mark.parametrize("n", [20, 2000])
@pytest.mark.parametrize("false_alarm", [1e-9, 1e-2])
def test_bound_of_certain_answers(n: int, false_alarm: float) -> None:
    """Check all against none in both halves: m^(1/N) over 1 − m^(1/N), in closed form."""
    low = (false_alarm / 12) ** (1 / (2 * (n - n // 10)))
    found = lower_bound(np.ones(n), np.zeros(n), pure, false_alarm)
    assert found == pytest.approx(max(0.0, math.log(low / (1 - low))), rel=1e-9)


@pytest.mark.parametrize("measure", [pure, concentrated])
@pytest.mark.parametrize("n", [200, 2000])
def test_most_is_proved_of_certain_answers(n: int, measure: Measure) -> None:
    found = lower_bound(np.ones(n), np.zeros(n), measure)
    assert found == pytest.approx(most_provable(n, measure))


@pytest.mark.parametrize("measure", [pure, concentrated])
@pytest.mark.parametrize("claim", [0.1, 1.0, 5.0])
def test_scores_needed_are_the_fewest_that_could_prove_more(claim: float, measure: Measure) -> None:
    n = scores_needed(claim, measure)
    assert most_provable(n, measure) > claim >= most_provable(n - 1, measure)
    assert scores_needed(40.0) > 1e17, "without dividing by what is rounded to 0"


def test_the_claimed_law_scores_numbers_too() -> None:
    """Check 1,000 numbers, each seen too rarely to be scored by how often it is seen."""
    rng = np.random.default_rng(0)
    a, b = (rng.integers(0, 500, 4000) + 500 * (rng.random(4000) < p) for p in (0.2, 0.8))
    claimed = np.where(np.arange(1000) < 500, 1.0, -1.0)
    alone, both = lower_bound_of_numbers(a, b), lower_bound_of_numbers(a, b, claimed)
    assert alone + 0.1 < both < math.log(4)


@pytest.mark.parametrize(("p", "q"), [(0.75, 0.25), (0.5, 0.5), (0.9, 0.05)])
@pytest.mark.parametrize("measure", [pure, concentrated])
@pytest.mark.parametrize(
    "event", [ScoreEvent(0.5, None), ScoreEvent(None, 0.5), ScoreEvent(0.5, 0.5)]
)
@pytest.mark.parametrize("false_alarm", [0.3, 0.01])
def test_false_alarms_are_as_rare_as_stated(
    p: float, q: float, measure: Measure, event: ScoreEvent, false_alarm: float
) -> None:
    """Sum over every outcome of two binomial laws, with no sampling.

    An event in two halves adds trials of unequal probabilities, for which the bounds hold too.
    """
    n = 16
    true = max(measure(p, q), measure(1 - q, 1 - p), 0.0)
    seen = np.arange(n + 1)
    probabilities = np.outer(stats.binom.pmf(seen, n, p), stats.binom.pmf(seen, n, q))
    ones = [(np.arange(n) < k).astype(float) for k in seen]
    alarms = [[event.proves(a, b, measure, false_alarm) > true for b in ones] for a in ones]
    assert float(probabilities[np.array(alarms)].sum()) <= false_alarm


def test_two_halves_prove_more_than_one() -> None:
    a, b = answers(0.9, 2000), answers(0.1, 2000)
    one = [ScoreEvent(0.5, None), ScoreEvent(None, 0.5)]
    alone = max(event.proves(a, b, pure, 1e-9) for event in one)
    assert ScoreEvent(0.5, 0.5).proves(a, b, pure, 1e-9) > alone + 0.05


def test_numbers_are_scored_by_how_often_they_are_seen() -> None:
    """Check five numbers: the third points to one side, and the fifth to the other."""
    n = 200_000
    a, b = (mixed(np.repeat(np.arange(5), np.array(shares) * n // 20)) for shares in
            ([4, 4, 6, 4, 2], [4, 4, 2, 4, 6]))  # fmt: skip
    assert 0.93 * math.log(3) < lower_bound_of_numbers(a, b) < math.log(3)
    assert lower_bound_of_numbers(a, a) == 0.0


def test_a_number_that_one_side_never_sends() -> None:
    n = 20_000
    a = mixed(np.repeat(np.arange(3), [n // 2, n // 4, n // 4]))
    b = mixed(np.repeat(np.arange(2), [n // 2, n // 2]))
    assert lower_bound_of_numbers(a, b) > 4


def test_binomial_bounds_are_clopper_pearson() -> None:
    """Check that at each bound the tail of the law is exactly the probability of missing."""
    low, high = binomial_bounds(7, 40, 0.01)
    assert stats.binom.sf(6, 40, low) == pytest.approx(0.01)
    assert stats.binom.cdf(7, 40, high) == pytest.approx(0.01)
    assert binomial_bounds(0, 40, 0.01)[0] == 0.0
    assert binomial_bounds(40, 40, 0.01)[1] == 1.0
    low, high = binomial_bounds(14_500, 1_000_000, 5e-10)
    assert stats.binom.sf(14_499, 1_000_000, low) == pytest.approx(5e-10, rel=1e-3)
    assert stats.binom.cdf(14_500, 1_000_000, high) == pytest.approx(5e-10, rel=1e-3)

"""What is proved is never more than is true, but for a stated chance, and not much less."""

import math
from typing import TypeVar

import numpy as np
import pytest
from scipy import stats

from crowdml.checks.evidence import (
    Event,
    binomial_bounds,
    epsilon_lower_bound,
    epsilon_of_numbers,
)
from crowdml.types import Array, Ints

N = TypeVar("N", Array, Ints)


def mixed(values: N) -> N:
    """In an order in which every part of the sample looks like the whole."""
    return values[np.argsort(np.arange(len(values)) * 0.6180339887498949 % 1.0)]


def answers(share: float, n: int) -> Array:
    return mixed((np.arange(n) < round(share * n)).astype(float))


def quantiles(law: stats.rv_continuous, centre: float, scale: float, n: int) -> Array:
    return mixed(law.ppf((np.arange(n) + 0.5) / n, centre, scale))


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
    a, b = (-quantiles(stats.laplace, centre, 1 / epsilon, 200_000) for centre in (0.0, 1.0))
    assert 0.9 * epsilon < epsilon_lower_bound(a, b) < epsilon


@pytest.mark.parametrize(("mu", "delta"), [(0.5, 0.01), (1.0, 0.01), (1.0, 1e-3), (2.0, 0.05)])
def test_bound_of_the_gaussian_law(mu: float, delta: float) -> None:
    """The exact ε at δ, by Balle and Wang 2018, Theorem 5, is approached and not passed."""

    def excess(epsilon: float) -> float:
        here, there = mu / 2 - epsilon / mu, -mu / 2 - epsilon / mu
        return float(stats.norm.cdf(here) - math.exp(epsilon) * stats.norm.cdf(there)) - delta

    low, high = 0.0, 50.0
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if excess(middle) > 0 else (low, middle)
    a, b = (quantiles(stats.norm, centre, 1.0, 1_000_000) for centre in (mu, 0.0))
    assert 0.75 * low < epsilon_lower_bound(a, b, delta) < low
    # There is no pure ε, so that less δ proves more.
    assert epsilon_lower_bound(a, b, delta / 2) > epsilon_lower_bound(a, b, delta)


@pytest.mark.parametrize("delta", [0.0, 0.01])
def test_same_law_proves_nothing(delta: float) -> None:
    same = quantiles(stats.laplace, 0.0, 1.0, 4000)
    assert epsilon_lower_bound(same, same, delta) == 0.0


def test_a_small_chance_is_forgiven_at_delta() -> None:
    """An output that only one side ever gives, as often as δ: no finite pure ε, but ε = 0 at δ."""
    n = 1_000_000
    a, b = answers(0.01, n), np.zeros(n)
    assert epsilon_lower_bound(a, b) > 5
    assert epsilon_lower_bound(a, b, delta=0.01) == 0.0


@pytest.mark.parametrize("n", [20, 2000])
@pytest.mark.parametrize("false_alarm", [1e-9, 1e-2])
def test_bound_of_certain_answers(n: int, false_alarm: float) -> None:
    """All against none in both halves of an event: m^(1/N) over 1 − m^(1/N), in closed form."""
    low = (false_alarm / 12) ** (1 / (2 * (n - n // 10)))
    found = epsilon_lower_bound(np.ones(n), np.zeros(n), 0.0, false_alarm)
    assert found == pytest.approx(max(0.0, math.log(low / (1 - low))), rel=1e-9)


@pytest.mark.parametrize(
    ("p", "q"), [(0.75, 0.25), (0.5, 0.1), (0.9, 0.6), (0.5, 0.5), (0.9, 0.05)]
)
@pytest.mark.parametrize("delta", [0.0, 0.1])
@pytest.mark.parametrize("event", [Event(0.5, None), Event(None, 0.5), Event(0.5, 0.5)])
@pytest.mark.parametrize("false_alarm", [0.3, 0.01])
def test_false_alarms_are_as_rare_as_stated(
    p: float, q: float, delta: float, event: Event, false_alarm: float
) -> None:
    """Summed over every outcome of two binomial laws, with no sampling.

    An event in two halves adds trials of unequal probabilities, for which the bounds hold too.
    """
    n = 25
    claims = [(p - delta) / q, (1 - q - delta) / (1 - p)]
    epsilon = max(math.log(each) for each in claims if each > 0)
    seen = np.arange(n + 1)
    chances = np.outer(stats.binom.pmf(seen, n, p), stats.binom.pmf(seen, n, q))
    ones = [(np.arange(n) < k).astype(float) for k in seen]
    alarms = [[event.proves(a, b, delta, false_alarm) > epsilon for b in ones] for a in ones]
    assert float(chances[np.array(alarms)].sum()) <= false_alarm


def test_two_halves_prove_more_than_one() -> None:
    a, b = answers(0.9, 2000), answers(0.1, 2000)
    one = [Event(0.5, None), Event(None, 0.5)]
    alone = max(event.proves(a, b, 0.0, 1e-9) for event in one)
    assert Event(0.5, 0.5).proves(a, b, 0.0, 1e-9) > alone + 0.05


def test_numbers_are_scored_by_how_often_they_are_seen() -> None:
    """Whatever they are: here the third of five tells the sides apart, and the fifth the other."""
    n = 200_000
    a, b = (mixed(np.repeat(np.arange(5), np.array(shares) * n // 20)) for shares in
            ([4, 4, 6, 4, 2], [4, 4, 2, 4, 6]))  # fmt: skip
    assert 0.93 * math.log(3) < epsilon_of_numbers(a, b) < math.log(3)
    assert epsilon_of_numbers(a, a) == 0.0


def test_a_number_that_one_side_never_sends() -> None:
    n = 20_000
    a = mixed(np.repeat(np.arange(3), [n // 2, n // 4, n // 4]))
    b = mixed(np.repeat(np.arange(2), [n // 2, n // 2]))
    assert epsilon_of_numbers(a, b) > 4


def test_binomial_bounds_are_clopper_pearson() -> None:
    """At each bound the tail of the law is exactly the chance of missing."""
    low, high = binomial_bounds(7, 40, 0.01)
    assert stats.binom.sf(6, 40, low) == pytest.approx(0.01)
    assert stats.binom.cdf(7, 40, high) == pytest.approx(0.01)
    assert binomial_bounds(0, 40, 0.01)[0] == 0.0
    assert binomial_bounds(40, 40, 0.01)[1] == 1.0
    low, high = binomial_bounds(14_500, 1_000_000, 5e-10)
    assert stats.binom.sf(14_499, 1_000_000, low) == pytest.approx(5e-10, rel=1e-3)
    assert stats.binom.cdf(14_500, 1_000_000, high) == pytest.approx(5e-10, rel=1e-3)

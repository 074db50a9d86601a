"""Test the conversion from ρ to (ε, δ) and back."""

import math
from statistics import NormalDist

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crowdml.privacy import PRIVATE_UP_TO, Loss, epsilon_of, excess_probability, rho_of


def gaussian_delta(epsilon: float, rho: float) -> float:
    """Return the exact δ of the continuous Gaussian mechanism with Δ²/(2σ²) = ρ.

    Reference: Balle and Wang 2018, Theorem 5.
    """
    mu = math.sqrt(2 * rho)

    def phi(z: float) -> float:
        return math.erfc(-z / math.sqrt(2)) / 2

    return phi(mu / 2 - epsilon / mu) - math.exp(epsilon) * phi(-mu / 2 - epsilon / mu)


@given(rho=st.floats(1e-6, 30.0), delta=st.sampled_from([1e-9, 1e-6, 1e-3]))
def test_it_holds_for_the_gaussian_and_wastes_little(rho: float, delta: float) -> None:
    epsilon = epsilon_of(rho, delta)
    assert gaussian_delta(epsilon, rho) <= delta * (1 + 1e-6)
    simple = rho + 2 * math.sqrt(rho * math.log(1 / delta))
    assert epsilon <= simple


@given(epsilon=st.floats(1e-3, 100.0), delta=st.sampled_from([1e-9, 1e-6, 1e-3]))
def test_there_and_back(epsilon: float, delta: float) -> None:
    rho = rho_of(epsilon, delta)
    assert epsilon_of(rho, delta) <= epsilon * (1 + 1e-12)
    assert epsilon_of(rho * 1.001, delta) > epsilon


@pytest.mark.parametrize(
    ("epsilon", "sure"), [(0.5, 63.8859), (1.0, 75.1005), (4.0, 98.4773), (10.0, 99.99598)]
)
def test_loss_passes_its_bound_with_probability_delta_and_epsilon_more_often(
    epsilon: float, sure: float
) -> None:
    """Check against the law of the loss itself, which is normal with mean ρ and variance 2ρ.

    A server that stops at a lucky moment at most doubles the probability above: the probability
    that such a Brownian motion ever passes a bound is known.
    """
    delta = 1e-6
    rho = rho_of(epsilon, delta)
    bound, deviation = Loss(rho=rho, delta=delta).bound, math.sqrt(2 * rho)
    law = NormalDist()
    above, below = law.cdf((rho - bound) / deviation), law.cdf((-bound - rho) / deviation)
    assert above == pytest.approx(delta / 2)
    assert above + below <= delta
    ever = above + math.exp(bound) * below
    assert above < ever <= delta
    assert law.cdf((rho - epsilon) / deviation) > 1.1 * delta / 2, "(ε, δ) is not such a bound"
    assert 100 / (1 + math.exp(-bound)) == pytest.approx(sure, rel=1e-5)


@pytest.mark.parametrize(("epsilon", "above"), [(0.5, 8.2), (1, 7.8), (4, 7.0), (20, 5.8)])
def test_epsilon_is_six_to_eight_percent_above_the_exact_one(epsilon: float, above: float) -> None:
    rho = rho_of(epsilon, 1e-6)
    exact = epsilon / (1 + above / 100)
    assert gaussian_delta(exact * 0.999, rho) > 1e-6 > gaussian_delta(exact * 1.001, rho)


def test_losses_add_up_in_their_own_units() -> None:
    pure, rho = Loss(epsilon=0.5), Loss(rho=0.1, delta=1e-6)
    assert Loss.sum([pure] * 4).total == 2.0
    assert Loss.sum([rho] * 4).total == pytest.approx(epsilon_of(0.4, 1e-6))
    assert Loss.sum([rho] * 4).total < 4 * rho.total
    assert (pure + rho).total == pytest.approx(0.5 + epsilon_of(0.1, 1e-6))
    assert Loss(rho=math.inf, delta=1e-6).total == math.inf
    assert Loss().total == 0.0


def test_round_numbers_and_none() -> None:
    assert epsilon_of(0.0, 1e-6) == 0
    assert epsilon_of(1.0, 1e-6) == pytest.approx(epsilon_of(1 + 1e-9, 1e-6), rel=1e-8)
    assert Loss(0.5, 0.25, 1e-6).times(3) == Loss(1.5, 0.75, 1e-6)
    assert Loss.sum([]) == Loss()


def test_up_to_where_a_guess_is_no_certainty() -> None:
    """Check the largest ε that is called private: a factor of half a billion."""
    assert math.exp(PRIVATE_UP_TO) == pytest.approx(0.5e9, rel=0.1)


def test_counts_pass_the_bound_ten_times_as_often_above_three_quarters_of_rho() -> None:
    assert [excess_probability(0.001, share) for share in (0.75, 0.76)] == [0.001, 0.01]

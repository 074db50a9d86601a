"""Measure the figures of the stopping rule in docs/tasks.md again, on small crowds.

Crowds are seeded, so no test here fails at random.
"""

import numpy as np
import pytest

from crowdml.privacy import Roles
from experiments.figures.stopping import (
    balance,
    false_stops,
    honest_stops,
    looks,
    noisy_false_stops,
    randomised,
    reports_per_checkin,
    rule_of,
    single_reports,
    stop_of,
)


def test_a_whole_task_stops_falsely_as_rarely_as_it_says() -> None:
    """Check false stops if a fifth of the people has all the errors.

    Each person reports five times in a row.
    """
    _, low = false_stops(4.0, 0.2, "a fifth", in_a_row=True, runs=4)
    assert low <= 0.1, "at confidence 0.9"


def test_sums_at_once_match_the_program() -> None:
    errors = np.linspace(0.4, 0.05, 2000)
    says = single_reports(errors, 4.0, 0.0, np.random.default_rng(1))
    rule = rule_of(4.0, 0.2, 2000)
    devices = np.arange(2000)
    slow = next(end for end, evidence in looks(rule, devices, says) if evidence.conclusive)
    assert stop_of(rule, says) == slow


@pytest.mark.parametrize(
    ("epsilon", "expected"), [(1.0, 1.38), (2.0, 1.14), (4.0, 1.06), (10.0, 1.06)]
)
def test_where_a_tenth_of_liars_balances(epsilon: float, expected: float) -> None:
    assert balance(rule_of(epsilon, 0.1, 6000), 0.1) == pytest.approx(expected, abs=0.01)


def test_what_honest_crowds_pay() -> None:
    """Check that guarding against absent liars costs honest crowds at most a third more reports.

    The comparison is at ε = 4 and half of ρ.
    """
    now, trusting = honest_stops(4.0, 0.2, 0.1, reports=6000, runs=10)
    assert now <= 1.35 * trusting


def test_a_liar_cannot_choose_its_numbers() -> None:
    roles = Roles(0.15, 0.05)
    free, in_order, gapless = (
        reports_per_checkin(roles, 10, before, devices=300)[0] for before in (0.0, 0.5, 1.0)
    )
    assert free == 1
    assert gapless < in_order < 0.5


@pytest.mark.parametrize(
    ("error", "updates", "once", "often"),
    [(0.1, 40_000, 255, 213), (0.2, 40_000, 200, 93), (0.3, 6000, 200, 45)],
)
def test_how_many_devices_a_target_error_needs(
    error: float, updates: int, once: int, often: int
) -> None:
    rule = rule_of(4.0, error, round(updates * 0.15))
    assert (rule.least_devices(), rule.least_devices(10**6)) == (once, often)
    assert rule_of(1.0, 0.1, 6000).least_devices() is None, "more than the longest window holds"


@pytest.mark.parametrize(("n", "stops"), [(100, False), (300, True)])
def test_few_devices_reach_no_target_error(n: int, stops: bool) -> None:
    """Check devices that report ten times each, about a model that is never wrong, at ρ = 0.1."""
    devices = np.tile(np.arange(n), 10)
    says = randomised(np.zeros(len(devices), dtype=bool), 4.0, np.random.default_rng(0))
    rule = rule_of(4.0, 0.1, 6000)
    assert any(evidence.conclusive for _, evidence in looks(rule, devices, says)) is stops


def test_with_noise_a_task_stops_falsely_more_often_than_it_says() -> None:
    """Check 20 tasks where people differ: the confidence 0.999 does not hold with noise. Seeded."""
    few, many = noisy_false_stops("laplace", 10.0, 0.1, "differ", 20)
    assert few <= 0.1
    assert many == 0.0

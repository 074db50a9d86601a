"""Test the evidence and its rule against a list of reports that is searched anew each time."""

import math
from collections import defaultdict
from dataclasses import replace
from statistics import NormalDist
from typing import Any, cast

import numpy as np
import pytest

from crowdml.learning import Evidence, StoppingRule
from crowdml.learning.stopping import ONE, ExpectedReport, WindowSums, student_t
from crowdml.privacy import ErrorCountLaw, Mechanism
from tests.support.servers import make_direction_task, make_task


class Shown:
    """Return whatever the rule is shown, and conclude nothing."""

    def __init__(self, *windows: int) -> None:
        self.windows = windows

    def expected(self, evaluated: int) -> ExpectedReport:
        return ExpectedReport(1 / (evaluated + 2), 1000 * evaluated + 7, 500 * evaluated + 3)


def slow_sums(rule: Shown, reports: list[list[int]]) -> WindowSums:
    of_device = defaultdict(list)
    for device, reported_errors, evaluated in reports:
        share, noise, sampling = rule.expected(evaluated)
        surplus = round((reported_errors / evaluated - share) * ONE)
        of_device[device].append((surplus, noise, sampling))
    means, variances = [], []
    for own in of_device.values():
        n, (surplus, noise, sampling) = len(own), map(sum, zip(*own, strict=True))
        means.append(surplus // n)
        variances.append(noise // n**2 + sampling // n)
    evaluated = sum(report[2] for report in reports)
    squares = sum(mean**2 for mean in means)
    return WindowSums(len(means), evaluated, sum(means), squares, sum(variances))


def slowly(
    window: int, reports: list[list[int]], new: list[int], devices: int = 0
) -> list[list[int]]:
    """Keep at most twice the even share of each device's reports, and the newest of all reports."""
    kept = [*reports, new]
    share = max(1, 2 * window // max(devices, len({report[0] for report in kept})))
    own = [report for report in kept if report[0] == new[0]]
    for report in own[: max(0, len(own) - share)]:
        kept.remove(report)
    return kept[-window:]


@pytest.mark.parametrize("window", [1, 2, 7, 30])
def test_sums_match_the_kept_reports(window: int) -> None:
    """Check the sums of the kept reports.

    Some devices report often enough that only few of their reports in a row are kept.
    """
    rng, rule = np.random.default_rng(window), Shown(window, 2 * window, 3 * window)
    seen = Evidence(cast(Any, rule))
    assert seen.windows[0].sums == slow_sums(rule, [])
    reports: list[list[list[int]]] = [[], [], []]
    for i in range(400):
        device = int(min(rng.geometric(0.8 if i // 50 % 2 else 0.2), 9))
        new = [device, int(rng.integers(5)), 5 + i]  # every report differs
        seen = seen.with_report(*new)
        reports[2] = slowly(3 * window, reports[2], new)
        devices = len({report[0] for report in reports[2]})
        reports[0] = slowly(window, reports[0], new, devices)
        reports[1] = slowly(2 * window, reports[1], new, devices)
        again = Evidence.from_array(cast(Any, rule), seen.to_array())
        for each in (seen, again):
            assert [list(map(list, w.rows())) for w in each.windows] == reports
            assert [w.sums for w in each.windows] == [slow_sums(rule, own) for own in reports]
        if i % 3 == 0:
            seen = again


class Even:
    """Count the calls of a mechanism without noise."""

    asked = 0

    def error_count_law(self, error: float, evaluated: int) -> ErrorCountLaw:
        self.asked += 1
        return ErrorCountLaw(evaluated * error, evaluated, evaluated * error * (1 - error))


def rule_of(mechanism: Even) -> StoppingRule:
    """Make a rule whose single look at each of three windows is wrong with probability 0.025."""
    return StoppingRule(0.3, 50, 4, 100, 1 - 3 * 0.025, 1, cast(Mechanism, mechanism))


def test_a_report_is_held_against_the_target_less_one_liar_in_twenty() -> None:
    mechanism = Even()
    rule = rule_of(mechanism)
    for evaluated in (20, 30, 20, 30):
        share, noise, sampling = rule.expected(evaluated)
        assert share == pytest.approx(0.95 * 0.3)
        assert noise / ONE == pytest.approx(1 / evaluated)
        assert sampling / ONE == pytest.approx(0.3 * 0.7 / evaluated)
    assert mechanism.asked == 2, "both are remembered"
    for evaluated in range(1, 3000):
        rule.expected(evaluated)
    assert len(rule._at_target) <= 1001, "and memory is bounded"


@pytest.mark.parametrize(
    ("devices", "evaluated", "above", "met"),
    [(4, 100, 0, True), (3, 100, 0, False), (4, 99, 0, False), (4, 100, 1, False)],
)
def test_enough_devices_predictions_and_certainty(
    devices: int, evaluated: int, above: int, met: bool
) -> None:
    """Check the margin of 1.96 standard deviations below the target.

    The variance of the sums is 9 of ONE.
    """
    rule = rule_of(Even())
    surplus = -math.ceil(1.9599639845 * 3 * ONE) - 1000 + above * 2000
    alike = -(-(surplus**2) // devices)
    assert rule.is_met(WindowSums(devices, evaluated, surplus, alike, 9 * ONE)) is met
    at_target = WindowSums(devices, evaluated, above, above, 0)
    assert rule.is_met(at_target) is met, "without noise at the target itself"


@pytest.mark.parametrize("above", [0, 1])
def test_devices_that_differ_need_a_larger_margin(above: int) -> None:
    """Check the margin for four means whose sum has a variance of 9 of ONE, as the means show.

    The quantile is Student's, here the approximation for three degrees of freedom.
    """
    rule = rule_of(Even())
    t = student_t(1.9599639845, 3)
    assert 3.18 < t < 3.30, "3.182 in tables"
    surplus = -math.ceil(t * 3 * ONE) - 1000 + above * 2000
    squares = (surplus**2 + 3 * 9 * ONE**2) // 4
    assert rule.is_met(WindowSums(4, 100, surplus, squares, ONE)) is (not above)


@pytest.mark.parametrize(
    ("p", "freedom", "t"),
    [(0.975, 5, 2.5706), (0.999, 19, 3.5794), (0.999999, 19, 6.7234), (0.99999, 199, 4.3699)],
)
def test_quantiles_of_student(p: float, freedom: int, t: float) -> None:
    """Check that quantiles are at most 0.3 % above the exact ones.

    They are never below the exact ones, except for rounding of the latter.
    """
    assert 0.9999 * t <= student_t(NormalDist().inv_cdf(p), freedom) <= 1.003 * t


def test_looks_share_the_error_probability() -> None:
    """Check that all looks until T_max, at three windows each, share the error probability.

    There is one look after each quarter of the window.
    """
    task = make_task(stop__error=0.4, stop__window=40, stop__updates=1005)
    rule = StoppingRule.of(task, task.terms.mechanism())
    assert rule is not None
    assert [n for n in range(1, 31) if rule.is_due(n)] == [10, 20, 30]
    assert replace(rule, window=3).is_due(1)
    assert (rule.looks, rule.windows) == (101, (40, 160, 640))
    assert rule._z == pytest.approx(NormalDist().inv_cdf(1 - 0.001 / 303))
    task = make_direction_task(stop__error=0.4, stop__updates=1000, collection__evaluators=0.2)
    rule = StoppingRule.of(task, task.terms.mechanism())
    assert rule is not None
    assert rule.looks == 1000 * 0.2 / 50


def test_the_rule_of_a_task() -> None:
    task = make_task(stop__error=0.4, stop__window=30, stop__devices=40, stop__samples=70)
    rule = StoppingRule.of(task, task.terms.mechanism())
    assert rule is not None
    assert (rule.error, rule.window, rule.fewest_devices, rule.fewest_evaluated) == (
        0.4,
        30,
        30,
        70,
    )
    assert StoppingRule.of(make_task(), task.terms.mechanism()) is None
    for window, longest in ((30_000, 100_000), (200_000, 200_000)):
        assert replace(rule, window=window).windows == (window, longest, longest)

"""Evidence and its rule, against a list of reports that is searched anew each time."""

import math
from collections import defaultdict
from typing import Any, cast

import numpy as np
import pytest

from crowdml.learning import Evidence, StoppingRule
from crowdml.learning.stopping import ONE
from crowdml.privacy import Mechanism
from tests.servers import make_task


class Shown:
    """A rule that concludes nothing and returns what it is shown."""

    def __init__(self, window: int) -> None:
        self.window = window

    def expected(self, evaluated: int) -> tuple[float, int]:
        return 1 / (evaluated + 2), 1000 * evaluated + 7

    def is_met(self, *sums: int) -> tuple[int, ...]:
        return sums


def slow_sums(rule: Shown, reports: list[list[int]]) -> tuple[int, ...]:
    of_device = defaultdict(list)
    for device, counted, evaluated in reports:
        share, variance = rule.expected(evaluated)
        of_device[device].append((round((counted / evaluated - share) * ONE), variance))
    means = [
        (sum(s for s, _ in own) // len(own), sum(v for _, v in own) // len(own) ** 2)
        for own in of_device.values()
    ]
    evaluated = sum(report[2] for report in reports)
    return len(means), evaluated, sum(s for s, _ in means), sum(v for _, v in means)


def slowly(window: int, reports: list[list[int]], new: list[int]) -> list[list[int]]:
    """At most twice the even share for each device, and the newest of all."""
    kept = [*reports, new]
    share = max(1, 2 * window // len({report[0] for report in kept}))
    own = [report for report in kept if report[0] == new[0]]
    for report in own[: max(0, len(own) - share)]:
        kept.remove(report)
    return kept[-window:]


@pytest.mark.parametrize("window", [1, 2, 7, 30])
def test_sums_are_those_of_the_reports_that_are_kept(window: int) -> None:
    """Some devices report so often that only few of their reports in a row stay."""
    rng, rule = np.random.default_rng(window), Shown(window)
    seen, reports = Evidence(cast(Any, rule)), list[list[int]]()
    for i in range(400):
        device = int(min(rng.geometric(0.8 if i // 50 % 2 else 0.2), 9))
        new = [device, int(rng.integers(5)), 5 + i]  # no two are alike
        seen, reports = seen.with_report(*new), slowly(window, reports, new)
        assert seen.to_array().tolist() == reports
        assert (len(seen), cast(Any, seen.conclusive)) == (len(reports), slow_sums(rule, reports))
    again = Evidence.from_array(cast(Any, rule), seen.to_array())
    assert cast(Any, again.conclusive) == slow_sums(rule, reports)


class Even:
    """A mechanism without noise that counts how often it is asked."""

    asked = 0

    def counted_at(self, error: float, evaluated: int) -> tuple[float, float]:
        self.asked += 1
        return evaluated * error, evaluated * error * (1 - error)


def rule_of(mechanism: Even) -> StoppingRule:
    return StoppingRule(0.3, 50, 4, 100, 0.975, cast(Mechanism, mechanism))


def test_a_report_is_held_against_the_target_less_one_liar_in_twenty() -> None:
    mechanism = Even()
    rule = rule_of(mechanism)
    for evaluated in (20, 30, 20, 30):
        share, variance = rule.expected(evaluated)
        assert share == pytest.approx(0.95 * 0.3)
        assert variance / ONE == pytest.approx(0.3 * 0.7 / evaluated)
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
    """1.96 standard deviations below the target, of sums whose variance is 9 of ONE."""
    rule = rule_of(Even())
    surplus = -math.ceil(1.9599639845 * 3 * ONE)
    assert rule.is_met(devices, evaluated, surplus - 1000 + above * 2000, 9 * ONE) is met
    assert rule.is_met(devices, evaluated, above, 0) is met, "without noise at the target itself"


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

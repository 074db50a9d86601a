"""Test that lies of one device, or of a few, never make the evidence for the target conclusive."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from crowdml.learning import LIARS_TOLERATED, Evidence, StoppingRule
from crowdml.privacy import NoiseMechanism
from crowdml.protocol import State, Task
from crowdml.server import Store
from crowdml.server.log.decision import Arrival
from tests.server.known_crowds import miscounting
from tests.server.learners import changed, new_learner, noisy, reopened
from tests.support.servers import make_task

BATCH = 52


def noisy_task(epsilon: float, error: float, mechanism: str = "laplace", **changes: Any) -> Task:
    return make_task(
        privacy__mechanism=mechanism,
        privacy__epsilon=epsilon,
        collection__batch=BATCH,
        collection__buffer=10 * BATCH,
        stop__error=error,
        enrolment__checkins_per_minute=1e6,
        **changes,
    )


def mechanism_of(task: Task) -> NoiseMechanism:
    mechanism = task.terms.mechanism()
    assert isinstance(mechanism, NoiseMechanism)
    return mechanism


def lowest(task: Task) -> int:
    """Return the lowest error count that the rules accept."""
    return -mechanism_of(task).plausible_excess[0]


@pytest.mark.parametrize("epsilon", [1.0, 10.0])
@pytest.mark.parametrize("honest", [0, 200])
def test_one_device_cannot_stop_a_task(store: Store, epsilon: float, honest: int) -> None:
    """Send the lowest accepted counts at any pace, before and among honest check-ins."""
    task = noisy_task(epsilon, 0.3)
    assert lowest(task) < -10
    learner = new_learner(store, task, n=201)
    crowd = miscounting(task, honest + 1, 0.6, np.random.default_rng(0), BATCH)
    liar = crowd[-1]
    for i in range(250):
        lie = changed(liar, id=f"lie-{i:016}", errors=lowest(task))
        learner.ingest([lie, *crowd[i : i + 1]] if i < honest else [lie])
        assert learner.state is State.RUNNING, f"after {i} lies"


@pytest.mark.parametrize("epsilon", [1.0, 10.0])
def test_a_tenth_of_the_devices_cannot_stop_a_task(store: Store, epsilon: float) -> None:
    """Send the lowest counts twice as often as others; the honest error is twice the target."""
    task = noisy_task(epsilon, 0.3)
    learner = new_learner(store, task, n=100)
    crowd = miscounting(task, 1000, 0.6, np.random.default_rng(0), BATCH)
    devices = store.devices(learner.id)
    for i, arrival in enumerate(crowd):
        lies = i % 11 < 2
        device = devices[i % 10 if lies else 10 + i % 90]
        errors = {"errors": lowest(task)} if lies else {}
        learner.ingest([changed(arrival._replace(device=device), **errors)])
    assert learner.version == 1000
    assert learner.state is State.RUNNING


@pytest.mark.parametrize(("epsilon", "error"), [(1.0, 0.3), (10.0, 0.15)])
@pytest.mark.parametrize("mechanism", ["laplace", "gaussian"])
@pytest.mark.parametrize("devices", [25, 1000])
def test_honest_devices_stop_a_task(
    store: Store, epsilon: float, error: float, mechanism: str, devices: int
) -> None:
    """Check that a third of the target stops the task within a few windows.

    At ε = 1 most counts are cut.
    """
    task = noisy_task(epsilon, error, mechanism)
    learner = new_learner(store, task, n=devices)
    rng = np.random.default_rng(1)
    noise = rng.normal(0, math.sqrt(mechanism_of(task).error_variance), 1000).round().astype(int)
    counts = rng.binomial(BATCH, error / 3, 1000) + noise
    crowd, sent = store.devices(learner.id), noisy(task, samples=BATCH)
    for i, count in enumerate(counts.tolist()):
        arrival = Arrival(crowd[i % devices], sent)
        learner.ingest([changed(arrival, id=f"checkin-{i:016}", errors=count)])
        if learner.state.final:
            break
    assert learner.state is State.REACHED
    assert 20 <= learner.version <= 400
    assert reopened(store, task).state is State.REACHED


def evidence(**changes: Any) -> Evidence:
    task = noisy_task(math.inf, 0.5, stop__samples=1, **changes)
    rule = StoppingRule.of(task, task.terms.mechanism())
    assert rule is not None
    return Evidence(rule)


def test_few_devices_are_not_enough() -> None:
    seen = evidence()
    for device in range(19):
        for _ in range(10):
            seen = seen.with_report(device, 0, 100)
    assert not seen.conclusive
    seen = seen.with_report(19, 0, 100)
    assert seen.conclusive


def test_a_device_counts_once_however_often_it_reports() -> None:
    """Let twenty devices report only errors, and one report no errors, ten times as often."""
    seen = evidence()
    for device in range(20):
        seen = seen.with_report(device, 100, 100)
    for _ in range(2000):
        seen = seen.with_report(20, 0, 100)
        assert not seen.conclusive
    shortest = seen.windows[0]
    assert shortest.sums.devices == 21, "and pushes nobody out of the window"
    assert len(shortest) <= 20 + 2 * 200 // 21


def test_lies_of_one_in_twenty_are_in_the_margin() -> None:
    """Check liars without noise, where the rest is at the target exactly."""
    seen = evidence()
    n_liars = int(LIARS_TOLERATED * 200)
    for device in range(200):
        seen = seen.with_report(device, 0 if device < n_liars else 50, 100)
    assert not seen.conclusive


@pytest.mark.parametrize("mechanism", ["laplace", "gaussian"])
@pytest.mark.parametrize("level", [0.02, 0.3, 3.0])
@pytest.mark.parametrize("n", [1, 20, 52])
@pytest.mark.parametrize("wrong", [0, 1, 7])
def test_what_cut_noise_makes_of_a_count(mechanism: str, level: float, n: int, wrong: int) -> None:
    """Compare mean and variance with sums over all values of the noise, by definition."""
    wrong = min(wrong, n)
    made = mechanism_of(noisy_task(4.0, 0.3, mechanism))
    law = made.law
    made = replace(made, levels=made.levels._replace(errors=level))
    scale = 1 / law.strength(level)
    reach = int(40 * scale) + 40
    z = np.arange(-reach, reach + 1)
    p = np.exp(-abs(z) / scale) if law.pure else np.exp(-((z / scale) ** 2) / 2)
    p /= p.sum()
    counted = np.clip(wrong + z, 0, n)
    mean = float(counted @ p)
    variance = float(counted**2 @ p) - mean**2
    sampling = wrong * (1 - wrong / n)
    assert made.error_count_law(wrong / n, n) == pytest.approx(
        (mean, variance, sampling), rel=0.02, abs=0.005
    )


@pytest.mark.parametrize("mechanism", ["laplace", "gaussian"])
@pytest.mark.parametrize("level", [0.02, 0.3, 3.0])
def test_people_who_differ_do_not_look_better_than_they_are(mechanism: str, level: float) -> None:
    """Check that the mean is lowest if all people are alike.

    The other case is that some are always wrong and the others never.
    """
    made = mechanism_of(noisy_task(4.0, 0.3, mechanism))
    made = replace(made, levels=made.levels._replace(errors=level))
    never, always = made.error_count_law(0.0, BATCH).mean, made.error_count_law(1.0, BATCH).mean
    for error in np.linspace(0.01, 0.4, 40):
        alike = made.error_count_law(float(error), BATCH).mean
        assert (1 - error) * never + error * always >= alike - 1e-9

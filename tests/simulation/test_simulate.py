"""Trials and settings over the cores: repeatable, honest about ε, small in memory."""

import math
import subprocess
import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from crowdml.errors import InvalidInput
from crowdml.simulation import (
    Crowd,
    Dataset,
    Learning,
    Presence,
    Schedule,
    make_schedule,
    simulate,
    tune,
    uniform_delay,
    validation_split,
)
from crowdml.simulation.approaches import Plan, Tuning, run_plans
from tests.simulation.toy import classes, numbers

CROWD = Crowd(devices=30, batch=2, delay=uniform_delay(10))
NOISY = Learning(epsilon=5.0, c=3.0)


def test_same_seed_same_curves() -> None:
    runs = [(CROWD, NOISY), (replace(CROWD, batch=5), NOISY)]
    one, two, other = (simulate(classes(), runs, trials=2, seed=seed) for seed in (4, 4, 5))
    for a, b, c in zip(one, two, other, strict=True):
        np.testing.assert_array_equal(a.errors, b.errors)
        np.testing.assert_array_equal(a.online_errors, b.online_errors)
        assert (a.errors != c.errors).any()
        assert (a.errors[0] != a.errors[1]).any()


@pytest.mark.parametrize("cores", [1, 3, 64])
def test_curves_do_not_depend_on_the_number_of_cores(
    cores: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = [(CROWD, replace(NOISY, c=c)) for c in (0.5, 1.0, 2.0, 4.0)]
    here = simulate(classes(), runs, trials=2)
    monkeypatch.setattr("os.cpu_count", lambda: cores)
    there = simulate(classes(), runs, trials=2)
    for one, other in zip(here, there, strict=True):
        np.testing.assert_array_equal(one.errors, other.errors)


def test_runs_of_a_crowd_share_schedules_and_not_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 1)
    made = []

    def counted(*arguments: Any) -> Schedule:
        made.append(arguments)
        return make_schedule(*arguments)

    monkeypatch.setattr("crowdml.simulation.trial.make_schedule", counted)
    one, two, three = simulate(
        classes(), [(CROWD, NOISY), (CROWD, replace(NOISY, epsilon=5.01)), (CROWD, Learning(c=3.0))]
    )
    assert len(made) == 1
    assert one.checkins == two.checkins == three.checkins
    assert (one.errors != two.errors).any()


def test_every_pass_costs_epsilon_again() -> None:
    for passes in (1, 3):
        crowd = Crowd(devices=30, batch=2, passes=passes)
        curve = simulate(classes(), [(crowd, NOISY)])[0]
        assert curve.epsilon_per_sample == 5.0 * passes
        # 10 samples a pass in minibatches of 2, each a check-in that costs ε.
        assert curve.epsilon_per_device == 5.0 * 5 * passes
        assert curve.checkins == 150 * passes


def test_no_noise_is_an_infinite_epsilon_unless_nothing_is_sent() -> None:
    curve = simulate(classes(), [(Crowd(devices=30), Learning())])[0]
    assert curve.epsilon_per_sample == curve.epsilon_per_device == math.inf
    silent = simulate(classes(), [(Crowd(devices=30, batch=100), Learning())])[0]
    assert (silent.checkins, silent.epsilon_per_sample, silent.epsilon_per_device) == (0, 0, 0)
    assert (silent.errors == silent.errors[:, :1]).all()


def test_progress_ends_with_all_jobs_done() -> None:
    told: list[tuple[int, int]] = []
    simulate(
        classes(),
        [(CROWD, NOISY), (replace(CROWD, batch=3), NOISY)],
        trials=3,
        progress=lambda *done: told.append(done),
    )
    assert told == [(done, 6) for done in range(1, 7)]


def test_trials_must_be_positive() -> None:
    with pytest.raises(InvalidInput, match="trials must be at least 1, found 0"):
        simulate(classes(), [(CROWD, NOISY)], trials=0)
    with pytest.raises(InvalidInput, match="trials must be at least 1, found 0"):
        run_plans(classes(), [Plan("crowd", CROWD, NOISY)], trials=0)


@pytest.mark.parametrize("people", [1, 10])
def test_validation_split_never_sees_the_test_set(people: int) -> None:
    data = replace(classes(), person=np.arange(300) % people)
    split = validation_split(data)
    rows = {tuple(row) for row in data.x_train}
    seen = [tuple(row) for row in np.concatenate([split.x_train, split.x_test])]
    assert set(seen) == rows
    assert len(seen) == 300
    assert 0.05 < len(split.x_test) / 300 < 0.3
    if people > 1:
        assert len(np.unique(split.person)) == 8


def scrambled(data: Dataset) -> Dataset:
    """The same training data with another test set."""
    return replace(data, x_test=-data.x_test[::-1], y_test=data.y_test[::-1])


@pytest.mark.parametrize("approach", ["crowd", "central-batch", "central-sgd", "decentral"])
def test_tuning_looks_at_the_test_set_only_when_told_to(
    approach: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = classes(n=600)
    plan = Plan(approach, Crowd(devices=40, passes=2), Learning(epsilon=20.0))
    honest, blind = (
        run_plans(one, [plan], lambda plan: Tuning(True, True))[0][0]
        for one in (data, scrambled(data))
    )
    assert honest == blind
    splits: list[Dataset] = []
    monkeypatch.setattr("crowdml.simulation.approaches.validation_split", splits.append)
    papers, curve = run_plans(data, [plan], lambda plan: Tuning(True, True, on_test=True))[0]
    assert not splits
    worst = run_plans(data, [replace(papers, way=replace(papers.way, c=1e-6))])[0][1]
    assert curve.final <= worst.final


def test_tuning_finds_a_rate_that_learns() -> None:
    data = classes(n=600)
    way = tune(validation_split(data), Crowd(devices=40, passes=3), Learning(c=1e-3))
    assert way.c > 0.1
    private = tune(validation_split(data), Crowd(devices=40), Learning(epsilon=5.0, c=1e-3))
    assert private.c < way.c


def test_nothing_is_tuned_when_all_is_given() -> None:
    plan = Plan("crowd", CROWD, NOISY)
    assert run_plans(classes(), [plan])[0][0] == plan


def test_unequal_crowds_learn_too() -> None:
    crowd = Crowd(
        devices=20, batch=2, buffer=6, delay=uniform_delay(30), passes=4,
        presence=Presence(0.5, 0.5), skew=0.5, spread=1.0,
    )  # fmt: skip
    curve = simulate(classes(), [(crowd, Learning(c=20.0))], trials=3)[0]
    assert curve.final < curve.mean[0] - 0.1
    assert curve.epsilon_per_sample == math.inf


def test_regression_learns() -> None:
    way = Learning(model="ridge", c=3.0, tolerance=0.25, intercept=True)
    curve = simulate(numbers(), [(Crowd(devices=20, passes=3), way)])[0]
    assert curve.final < curve.mean[0] - 0.2


LARGE_CROWD = """
import resource
import numpy as np
from crowdml.simulation import Crowd, Dataset, Learning, simulate, uniform_delay

def run(devices, samples):
    rng = np.random.default_rng(0)
    x, y = rng.dirichlet(np.ones(4), samples), rng.integers(250, size=samples).astype(float)
    labels = tuple(str(label) for label in range(250))
    data = Dataset("large", labels, x, y, np.zeros(samples, np.int64), x[:10], y[:10])
    crowd = Crowd(devices=devices, batch=2, delay=uniform_delay(100))
    curve = simulate(data, [(crowd, Learning(epsilon=1.0))], points=2)[0]
    return curve.checkins, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024

small = run(1000, 2000)
large = run(200_000, 400_000)
print(int(large[0]), large[1] - small[1])
"""


def test_memory_grows_with_samples_never_with_devices_times_parameters() -> None:
    """200,000 devices × 1,000 parameters × 4 bytes would be 800 MB."""
    done = subprocess.run(
        [sys.executable, "-c", LARGE_CROWD], capture_output=True, text=True, check=True
    )
    checkins, megabytes = map(int, done.stdout.split())
    assert checkins > 190_000
    assert megabytes < 400

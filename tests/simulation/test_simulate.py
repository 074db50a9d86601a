"""Test trials and settings on all cores: repeatable, honest about ε, small in memory."""

import math
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from crowdml.errors import InvalidInput
from crowdml.privacy import epsilon_of, rho_of
from crowdml.simulation import (
    Crowd,
    Dataset,
    Learning,
    Plan,
    Schedule,
    central_batch,
    make_schedule,
    simulate,
    uniform_delay,
)
from crowdml.simulation.baselines import perturb
from crowdml.simulation.plan import APPROACHES
from crowdml.simulation.trial import DATA_STREAM
from tests.simulation.toy import classes, numbers

CROWD = Crowd(devices=30, batch=2, delay=uniform_delay(10))
NOISY = Learning(mechanism="laplace", epsilon=5.0, c=3.0)


def test_same_seed_same_curves() -> None:
    runs = [Plan(CROWD, NOISY), Plan(replace(CROWD, batch=5), NOISY)]
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
    runs = [Plan(CROWD, replace(NOISY, c=c)) for c in (0.5, 1.0, 2.0, 4.0)]
    here = simulate(classes(), runs, trials=2)
    monkeypatch.setattr("os.cpu_count", lambda: cores)
    there = simulate(classes(), runs, trials=2)
    for one, other in zip(here, there, strict=True):
        np.testing.assert_array_equal(one.errors, other.errors)


def test_runs_of_a_crowd_share_schedules_and_not_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 1)
    made = []

    def counted(*arguments: Any, **options: Any) -> Schedule:
        made.append(arguments)
        return make_schedule(*arguments, **options)

    monkeypatch.setattr("crowdml.simulation.trial.make_schedule", counted)
    learnings = [NOISY, replace(NOISY, epsilon=5.01), Learning(c=3.0)]
    one, two, three = simulate(classes(), [Plan(CROWD, learning) for learning in learnings])
    assert len(made) == 1
    assert one.checkins == two.checkins == three.checkins
    assert (one.errors != two.errors).any()


def test_every_pass_costs_epsilon_again() -> None:
    for passes in (1, 3):
        crowd = Crowd(devices=30, batch=2, passes=passes)
        curve = simulate(classes(), [Plan(crowd, NOISY)])[0]
        assert curve.epsilon_per_sample == 5.0 * passes
        # 10 samples per pass in minibatches of 2, each a check-in that costs ε.
        assert curve.epsilon_spent == 5.0 * 5 * passes
        assert curve.epsilon_per_person == 5.0 * 10 * passes
        assert curve.checkins == 150 * passes


def test_a_person_loses_epsilon_in_total_by_directions() -> None:
    """Check 10 samples, b = 2, two passes: ten check-ins of ε/10, two of them with a sample."""
    crowd, learning = Crowd(devices=30, batch=2, passes=2), Learning(epsilon=5.0)
    curve = simulate(classes(), [Plan(crowd, learning)])[0]
    assert curve.epsilon_per_sample == pytest.approx(1.0)
    assert curve.epsilon_spent == curve.epsilon_per_person == pytest.approx(5.0)
    assert curve.checkins == 300
    few = simulate(classes(), [Plan(replace(crowd, checkins=2), learning)])[0]
    assert few.checkins == 60
    assert few.left_over == pytest.approx(1 - 120 / 600)
    assert few.epsilon_per_person == 5.0
    # K is an upper limit: a device that makes fewer check-ins loses less.
    many = simulate(classes(), [Plan(replace(crowd, checkins=20), learning)])[0]
    assert many.epsilon_per_person == pytest.approx(2.5)


def test_gaussian_noise_adds_up_as_concentrated_privacy() -> None:
    """Check that ρ adds up over uses and over check-ins, and grows with the square of a group."""
    rho, delta = rho_of(2.0, 1e-6), 1e-6
    plan = Plan(Crowd(devices=30, batch=2, passes=3), Learning(mechanism="gaussian", epsilon=2.0))
    curve = simulate(classes(), [plan])[0]
    assert curve.epsilon_per_sample == pytest.approx(epsilon_of(3 * rho, delta))
    assert curve.epsilon_spent == pytest.approx(epsilon_of(15 * rho, delta))
    assert curve.epsilon_per_person == pytest.approx(epsilon_of(15 * 2**2 * rho, delta))


@pytest.mark.parametrize("role", ["evaluators", "counters"])
def test_some_check_ins_may_do_something_else(role: str) -> None:
    """Check that such check-ins cost the same, and leave fewer to learn from."""
    crowd, learning = Crowd(devices=150, batch=2), Learning(epsilon=5.0)
    half: dict[str, Any] = {role: 0.5}
    plans = [Plan(crowd, learning), Plan(replace(crowd, **half), learning)]
    everyone, some = simulate(classes(), plans)
    assert everyone.checkins == some.checkins
    assert some.epsilon_per_person == 5.0
    assert some.left_over == 0
    assert some.c > everyone.c, "planned for fewer steps"


@pytest.mark.parametrize("approach", ["central-sgd", "crowd"])
def test_liars_need_a_crowd_and_noise(approach: str) -> None:
    learning = Learning(epsilon=math.inf if approach == "crowd" else 1.0)
    with pytest.raises(InvalidInput, match="liars are simulated for a crowd with an ε"):
        Plan(Crowd(liars=0.1), learning, approach)
    with pytest.raises(InvalidInput, match=r"liars must lie in 0 … 1, found 1\.1"):
        Crowd(liars=1.1)


def test_directions_learn_untuned_what_noise_cannot() -> None:
    """Use three samples per person: by Laplace noise a person would lose 12 in total."""
    data = classes(n=3000)
    direction, laplace = (
        Plan(Crowd(devices=1000, batch=3), Learning(mechanism=name, epsilon=epsilon))
        for name, epsilon in (("direction", 4.0), ("laplace", 4.0 / 3))
    )
    whole, each = simulate(data, [direction, laplace], trials=3)
    assert whole.epsilon_per_person == pytest.approx(each.epsilon_per_person)
    assert whole.final < each.final - 0.05


def test_no_noise_is_an_infinite_epsilon_unless_nothing_is_sent() -> None:
    curve = simulate(classes(), [Plan(Crowd(devices=30), Learning())])[0]
    assert curve.epsilon_per_sample == curve.epsilon_spent == math.inf
    silent = simulate(classes(), [Plan(Crowd(devices=30, batch=100), Learning())])[0]
    assert (silent.checkins, silent.epsilon_per_sample, silent.epsilon_spent) == (0, 0, 0)
    assert (silent.errors == silent.errors[:, :1]).all()


def test_progress_ends_with_all_jobs_done() -> None:
    reported: list[tuple[int, int]] = []
    simulate(
        classes(),
        [Plan(CROWD, NOISY), Plan(replace(CROWD, batch=3), NOISY)],
        trials=3,
        progress=lambda *done: reported.append(done),
    )
    assert reported == [(done, 6) for done in range(7)]


def test_trials_must_be_positive() -> None:
    with pytest.raises(InvalidInput, match="trials must be at least 1, found 0"):
        simulate(classes(), [Plan(CROWD, NOISY)], trials=0)


@pytest.mark.parametrize("approach", APPROACHES)
def test_every_approach_has_one_door(approach: str) -> None:
    """Check that a plan gives the same alone as among others.

    Trials differ only where there is randomness.
    """
    plans = [Plan(CROWD, NOISY, name) for name in APPROACHES]
    among = dict(zip(APPROACHES, simulate(classes(), plans, trials=2), strict=True))[approach]
    alone = simulate(classes(), [Plan(CROWD, NOISY, approach)], trials=2)[0]
    np.testing.assert_array_equal(among.errors, alone.errors)
    assert (alone.errors[0] != alone.errors[1]).any()
    assert alone.samples[-1] == 300
    assert alone.final < (0.75 if approach == "crowd" else 0.6)


def test_central_sgd_is_one_device_on_perturbed_samples() -> None:
    data = replace(classes(), person=np.arange(300) % 4)
    found = simulate(data, [Plan(CROWD, NOISY, "central-sgd")], seed=2)[0]
    noisy = perturb(data, 5.0, np.random.default_rng([2, 0, DATA_STREAM]))
    server = Plan(Crowd(devices=1, batch=2), replace(NOISY, epsilon=math.inf, limits_length=False))
    pooled = replace(noisy, person=np.zeros(300, np.int64))
    np.testing.assert_array_equal(found.errors, simulate(pooled, [server], seed=2)[0].errors)


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Record the expensive steps of the central approaches, in order, on one core."""
    made: list[str] = []

    def counted(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            made.append(function.__name__)
            return function(*arguments)

        return call

    monkeypatch.setattr("os.cpu_count", lambda: 1)
    for function in (perturb, central_batch):
        monkeypatch.setattr(f"crowdml.simulation.trial.{function.__name__}", counted(function))
    return made


def test_samples_are_perturbed_once_for_all_central_plans_of_a_trial(calls: list[str]) -> None:
    plans = [
        Plan(replace(CROWD, batch=batch), NOISY, name)
        for batch in (1, 2)
        for name in ("central-sgd", "central-batch")
    ]
    simulate(classes(), plans, trials=3)
    assert calls == ["perturb", "central_batch", "central_batch"] * 3


def test_what_cannot_differ_between_trials_is_run_once(calls: list[str]) -> None:
    certain, *others = (
        Plan(CROWD, Learning(), name) for name in ("central-batch", "central-sgd", "crowd")
    )
    curves = simulate(classes(), [certain, *others], trials=3)
    assert calls.count("central_batch") == 1
    assert [len(curve.errors) for curve in curves] == [1, 3, 3]
    simulate(lambda rng: classes(seed=int(rng.integers(100))), [certain], trials=3)
    assert calls.count("central_batch") == 1 + 3


def test_each_trial_may_draw_its_own_data() -> None:
    drawn: list[Dataset] = []

    def draw(rng: np.random.Generator) -> Dataset:
        drawn.append(classes(n=40, seed=int(rng.integers(1000))))
        return drawn[-1]

    plans = [Plan(Crowd(devices=4, batch=batch), Learning()) for batch in (1, 2)]
    curves = simulate(draw, plans, trials=3)
    of_trial = {data.x_train.tobytes() for data in drawn}
    assert (len(drawn), len(of_trial)) == (6, 3), "plans of a trial see the same data"
    again = simulate(draw, plans[:1], trials=3)[0]
    np.testing.assert_array_equal(again.errors, curves[0].errors)


def test_without_noise_features_may_have_any_length() -> None:
    """Compare s·x at the rate c/s² with x at the rate c: same steps, to single precision."""
    data, s = classes(), 1000.0
    long = replace(data, x_train=s * data.x_train, x_test=s * data.x_test, raw=True)
    learning = replace(NOISY, epsilon=math.inf)
    short = simulate(data, [Plan(CROWD, learning)])[0]
    found = simulate(long, [Plan(CROWD, replace(learning, c=3.0 / s**2))])[0]
    np.testing.assert_allclose(found.errors, short.errors, atol=0.02)
    np.testing.assert_allclose(found.online_errors, short.online_errors, atol=0.02)


def test_unequal_crowds_learn_too() -> None:
    crowd = Crowd(
        devices=20, batch=2, buffer=6, delay=uniform_delay(30), passes=4,
        late=0.5, leaving=0.5, skew=0.5, spread=1.0,
    )  # fmt: skip
    curve = simulate(classes(), [Plan(crowd, Learning(c=20.0))], trials=3)[0]
    assert curve.final < curve.mean[0] - 0.1
    assert curve.epsilon_per_sample == math.inf


def test_regression_learns() -> None:
    learning = Learning(model="ridge", tolerance=0.25, intercept=True)
    curve = simulate(numbers(), [Plan(Crowd(devices=20, passes=3), learning)])[0]
    assert curve.final < curve.mean[0] - 0.2
    assert curve.final_rmse < curve.rmse[0, 0] / 2
    assert simulate(classes(), [Plan(CROWD, NOISY)])[0].rmse.size == 0


@pytest.mark.parametrize("model", ["ridge", "huber"])
def test_numbers_of_any_size_are_learnt_alike(model: str) -> None:
    """Check targets that are 1000 times as large, with a scale, a tolerance and a δ as large."""
    data = numbers(n=2000)
    large = replace(data, y_train=1000 * data.y_train, y_test=1000 * data.y_test)
    plan = Plan(Crowd(devices=400, batch=5), Learning(epsilon=10.0, model=model))
    small, found = (simulate(one, [plan], trials=2)[0] for one in (data, large))
    np.testing.assert_allclose(found.errors, small.errors, atol=0.02)
    np.testing.assert_allclose(found.rmse, 1000 * small.rmse, rtol=0.02)


LARGE_CROWD = """
import resource
import numpy as np
from crowdml.simulation import Crowd, Dataset, Learning, Plan, simulate, uniform_delay

def run(devices, samples):
    rng = np.random.default_rng(0)
    x, y = rng.dirichlet(np.ones(4), samples), rng.integers(250, size=samples).astype(float)
    labels = tuple(str(label) for label in range(250))
    data = Dataset("large", labels, x, y, np.zeros(samples, np.int64), x[:10], y[:10])
    crowd = Crowd(devices=devices, batch=2, delay=uniform_delay(100))
    curve = simulate(data, [Plan(crowd, Learning(epsilon=1.0))], points=2)[0]
    return curve.checkins, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024

small = run(1000, 2000)
large = run(200_000, 400_000)
print(int(large[0]), large[1] - small[1])
"""


def test_memory_grows_with_samples_never_with_devices_times_parameters() -> None:
    """Check memory below 200,000 devices × 1,000 parameters × 4 bytes, which would be 800 MB."""
    done = subprocess.run(
        [sys.executable, "-c", LARGE_CROWD], capture_output=True, text=True, check=True
    )
    checkins, megabytes = map(int, done.stdout.split())
    assert checkins > 190_000
    assert megabytes < 400

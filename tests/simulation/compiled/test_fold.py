"""Compare the compiled fold with the obvious one."""

import itertools
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crowdml.errors import InvalidInput
from crowdml.optim import pilot_reach, signal_ratio
from crowdml.privacy import rho_of
from crowdml.protocol import MECHANISMS
from crowdml.simulation import Crowd, Learning, Plan, StartPoint, load_digits, uniform_delay
from crowdml.simulation.fold import fold_slowly, learn
from crowdml.simulation.learning_setup import LearningSetup, make_model, make_stand_in
from crowdml.simulation.trial import run_trial, schedule_of_crowd
from crowdml.types import Array
from tests.simulation.toy import classes, numbers
from tests.support.servers import make_task

SGD = [("sgd", "sqrt"), ("sgd", "constant"), ("sgd", "inverse")]
OPTIMIZERS = [*SGD, ("adagrad", "sqrt"), ("dual-averaging", "sqrt")]
CROWD = Crowd(devices=20, batch=3, delay=uniform_delay(20), passes=2)
QUIET = Learning(mechanism="laplace", c=0.5, rate="constant", model="huber", delta=0.2, clip=0.1)


def both(learning: Learning, crowd: Crowd = CROWD, seed: int = 0) -> tuple[Array, Array]:
    """Return the parameters of the compiled fold and of the obvious one."""
    data = classes() if learning.model in ("softmax", "hinge") else numbers()
    curve = run_trial(data, [Plan(crowd, learning)], (seed,), points=4)[0]
    schedule = schedule_of_crowd(data, crowd, np.random.default_rng((seed,)))
    stops = np.searchsorted(schedule.tick, curve.samples, side="right")
    fast, _ = learn(data, schedule, learning, stops, np.random.default_rng(0))
    slow, wrong = fold_slowly(data, schedule, learning, stops, np.random.default_rng(0))
    counted = np.concatenate([[0], np.cumsum(wrong)])[stops]
    used = np.maximum(schedule.start[stops], 1)
    np.testing.assert_allclose(curve.online_errors, [counted / used], atol=0.02)
    return fast[-1], slow[-1]


@pytest.mark.parametrize(
    ("model", "optimizer", "averaging"),
    list(itertools.product(("softmax", "hinge", "ridge", "huber"), OPTIMIZERS, (None, 8.0))),
)
def test_fold_is_the_obvious_one(
    model: str, optimizer: tuple[str, str], averaging: float | None
) -> None:
    """Compare to the rounding of single precision, with and without λ, clip and intercept."""
    c = 0.3 if model == "hinge" else 2.0
    learning = Learning(
        mechanism="laplace",
        c=c,
        optimizer=optimizer[0],
        rate=optimizer[1],
        model=model,
        averaging=averaging,
        delta=0.2,
    )
    # Single precision may decide differently where sums are 0 except for rounding: labels cancel
    # at w = 0 under AdaGrad, or rivals have equal scores. These minibatch sizes avoid both.
    crowd = replace(CROWD, batch=4) if model == "softmax" else CROWD
    for strength, clip, intercept in itertools.product((0.0, 0.01), (None, 0.15), (False, True)):
        one = replace(learning, regularization=strength, clip=clip, intercept=intercept)
        fast, slow = both(one, crowd)
        assert np.abs(slow).max() > 0.01
        np.testing.assert_allclose(fast, slow, atol=3e-4 * np.abs(slow).max())


@pytest.mark.parametrize("model", ["softmax", "huber"])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize(("mechanism", "clip"), [("gaussian", 0.15), ("direction", None)])
def test_fold_is_the_obvious_one_in_l2(
    model: str, intercept: bool, mechanism: str, clip: float | None
) -> None:
    """Bound rows in L2, and clip gradients in L2 or shorten them as a whole."""
    crowd = replace(CROWD, batch=4)
    for c, rate in ((None, "planned"), (2.0, "sqrt")):
        learning = Learning(
            mechanism=mechanism,
            c=c,
            rate=rate,
            model=model,
            clip=clip,
            intercept=intercept,
            regularization=0.01,
        )
        fast, slow = both(learning, crowd)
        assert np.abs(slow).max() > 0.01
        np.testing.assert_allclose(fast, slow, atol=3e-4 * np.abs(slow).max())


@pytest.mark.parametrize("mechanism", ["laplace", "gaussian"])
def test_liars_send_the_same_in_both_folds(mechanism: str) -> None:
    """Check that all liars send the largest numbers against the gradient, with nothing random."""
    learning = Learning(mechanism=mechanism, epsilon=4.0, c=1e-3, rate="constant")
    lying = replace(CROWD, batch=4, liars=1.0)
    fast, slow = both(learning, lying)
    np.testing.assert_allclose(fast, slow, rtol=1e-4, atol=1e-4 * np.abs(slow).max())
    assert run_trial(classes(), [Plan(lying, learning)], (0,))[0].final > 0.8


@pytest.mark.parametrize("few", [True, False])
def test_liars_push_directions_away(few: bool) -> None:
    """Check that lies push as far as the farthest of k codewords, for few or many parameters."""
    data = classes() if few else load_digits()
    learning = Learning(epsilon=4.0, limits_length=False)
    schedule = schedule_of_crowd(
        data, Crowd(devices=100, batch=3, liars=0.3), np.random.default_rng(0)
    )
    model, stand_in, *_ = LearningSetup.of(learning, data, schedule)
    assert bool(stand_in.ranked) is few
    rng, g = np.random.default_rng(1), np.eye(model.size)[0]
    pushed = [stand_in.hide(g, 3, row, rng)[0] for row in stand_in.lies(np.full(50, 3), rng)]
    assert -4.5 < np.mean(pushed) / stand_in.scale(3) < -2.5
    assert len(schedule.liars) == 30


def started(size: int) -> StartPoint:
    return StartPoint(tuple(np.random.default_rng(5).normal(size=size).tolist()))


@pytest.mark.parametrize("model", ["softmax", "huber"])
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_both_folds_begin_at_the_start(model: str, optimizer: tuple[str, str]) -> None:
    data = classes() if model == "softmax" else numbers()
    for intercept, averaging in itertools.product((False, True), (None, 3.0)):
        learning = Learning(
            mechanism="gaussian",
            c=0.05,
            optimizer=optimizer[0],
            rate=optimizer[1],
            model=model,
            intercept=intercept,
            averaging=averaging,
        )
        start = started(make_model(learning, 7, len(data.labels)).size)
        learning = replace(learning, start=start)
        fast, slow = both(learning, replace(CROWD, batch=4))
        np.testing.assert_allclose(fast, slow, atol=3e-4 * np.abs(slow).max())
        schedule = schedule_of_crowd(data, CROWD, np.random.default_rng(0))
        for fold in (learn, fold_slowly):
            w, _ = fold(data, schedule, learning, np.array([0, 1]), np.random.default_rng(0))
            np.testing.assert_allclose(w[0], start.w, rtol=1e-6)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_start_decides_how_far_w_goes(mechanism: str) -> None:
    data = classes()
    schedule = schedule_of_crowd(data, CROWD, np.random.default_rng(0))
    learning = Learning(mechanism=mechanism, epsilon=2.0)
    size = make_model(learning, 7, 3).size
    far = replace(learning, start=started(size))
    known = replace(learning, start=replace(started(size), distance=3.0, rows=100, people=2))
    by_default, unsure, sure = (
        LearningSetup.of(each, data, schedule) for each in (learning, far, known)
    )
    assert unsure.spec == by_default.spec, "without a distance, D is that from zero"
    stand_in = sure.stand_in
    ratio = signal_ratio(schedule.n_checkins, stand_in.length, stand_in.noise_energy)
    reach = pilot_reach(3.0, 100, 2, ratio, size)
    given = replace(learning, reach=reach).spec.with_plan(schedule.n_checkins, stand_in, 1.0)
    assert sure.spec.c == pytest.approx(given.c)
    assert sure.spec.averaging == by_default.spec.averaging


def test_a_start_must_fit_the_model() -> None:
    with pytest.raises(InvalidInput, match="as many parameters as the model, 21, found 20"):
        both(Learning(c=1.0, start=started(20)))
    with pytest.raises(InvalidInput, match="must be finite"):
        StartPoint((math.nan,))
    with pytest.raises(InvalidInput, match="the number of its rows"):
        StartPoint((1.0,), distance=2.0)


@settings(deadline=None, max_examples=40)
@given(
    st.integers(1, 40),
    st.integers(1, 9),
    st.integers(0, 300),
    st.integers(1, 3),
    st.integers(0, 99),
)
def test_fold_follows_any_schedule(
    devices: int, batch: int, delay: int, passes: int, seed: int
) -> None:
    crowd = Crowd(devices, batch, None, uniform_delay(delay) if delay else None, passes)
    fast, slow = both(Learning(mechanism="laplace", c=5.0), crowd, seed)
    np.testing.assert_allclose(fast, slow, atol=3e-4 * max(1.0, np.abs(slow).max()))


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_radius_holds(optimizer: tuple[str, str]) -> None:
    learning = Learning(
        mechanism="laplace", c=50.0, optimizer=optimizer[0], rate=optimizer[1], radius=0.7
    )
    fast, slow = both(learning)
    assert np.linalg.norm(fast) <= 0.7 * (1 + 1e-5)
    np.testing.assert_allclose(fast, slow, atol=1e-3)


def test_average_gradient_runs_slowly_and_says_so() -> None:
    plan = Plan(CROWD, Learning(mechanism="laplace", c=5.0, optimizer="average-gradient"))
    with pytest.warns(UserWarning, match="average-gradient .* slowly"):
        curve = run_trial(classes(), [plan], (0,))[0]
    assert curve.final < curve.mean[0]


def one_step(learning: Learning, n: int, fast: bool) -> Array:
    """Return w after one check-in of four samples, n times: rows of independent parameters.

    In a long constant-rate run with x = 0, every check-in is one step from the last, so that
    differences of neighbours are single steps.
    """
    zeros = replace(numbers(4 * n, n_features=8), x_train=np.zeros((4 * n, 8)))
    crowd = Crowd(devices=1, batch=4)
    schedule = schedule_of_crowd(zeros, crowd, np.random.default_rng(0))
    fold = learn if fast else fold_slowly
    w, _ = fold(zeros, schedule, learning, np.arange(n + 1), np.random.default_rng(7))
    return np.diff(w, axis=0)


@pytest.mark.parametrize("fast", [True, False])
def test_laplace_noise_has_the_devices_scale(fast: bool) -> None:
    """Check the mean of |z| and of z over N draws of scale 2Sη/(nε).

    False-positive rate ≤ 1e-8 for each: |z|/scale is exponential, whose mean over N draws is off by
    more than δ with probability ≤ 2·exp(−N·δ²/2·(1 − δ)); z is within 6 standard errors except with
    probability 2e-9 (N is large enough for the normal law at that distance).
    """
    n = 10_000
    learning = replace(QUIET, mechanism="laplace", epsilon=2.0)
    z = one_step(learning, n, fast).ravel() / (0.5 * 2 * 0.1 / (4 * 2.0))
    delta = math.sqrt(2 * math.log(2 / 1e-8) / z.size) * 1.05
    assert abs(np.abs(z).mean() - 1) < delta
    assert abs(z.mean()) < 6 * math.sqrt(2 / z.size)
    # E z⁴ = 4!, E z⁸ = 8!, so the standard error of the variance is √(20/N).
    assert abs((z**2).mean() - 2) < 7 * math.sqrt(20 / z.size)


@pytest.mark.parametrize("fast", [True, False])
def test_gaussian_noise_has_the_devices_scale(fast: bool) -> None:
    """Check the mean of z² and of z over N draws of deviation 2Sη/(n√(2ρ)), ρ for ε at δ = 1e-6.

    False-positive rate ≤ 4e-9 for each: six standard errors, √(2/N) and √(1/N).
    """
    learning = replace(QUIET, mechanism="gaussian", epsilon=2.0)
    deviation = 0.5 * 2 * 0.1 / (4 * math.sqrt(2 * rho_of(2.0, 1e-6)))
    z = one_step(learning, 10_000, fast).ravel() / deviation
    # Rounding to a grid adds a little to the sensitivity.
    assert -6 * math.sqrt(2 / z.size) < (z**2).mean() - 1 < 6 * math.sqrt(2 / z.size) + 0.01
    assert abs(z.mean()) < 6 / math.sqrt(z.size)


def test_a_model_must_fit_what_is_predicted() -> None:
    with pytest.raises(InvalidInput, match=r"takes no labels, found 3. Use softmax or hinge\."):
        make_model(Learning(model="ridge"), 2, 3)
    with pytest.raises(InvalidInput, match=r"needs some, found 0. Use ridge or huber\."):
        make_model(Learning(model="hinge"), 2, 0)


@pytest.mark.parametrize("mechanism", ["laplace", "gaussian"])
def test_without_noise_only_a_given_clip_counts(mechanism: str) -> None:
    given = Learning(mechanism=mechanism, model="ridge", c=1.0)
    model = make_model(given, 3, 0)
    assert make_stand_in(given, model, 1).clip > 1e20
    assert make_stand_in(replace(given, clip=0.5), model, 1).clip == 0.5
    with pytest.raises(InvalidInput, match="Set a clip for this model"):
        make_stand_in(replace(given, epsilon=1.0), model, 1)


def test_a_clip_suits_the_planned_rate_or_is_the_models_bound() -> None:
    planned = Learning(mechanism="laplace", epsilon=1.0)
    model = make_model(planned, 3, 2)
    assert make_stand_in(planned, model, 1).clip == MECHANISMS["laplace"].clip
    assert make_stand_in(replace(planned, c=1.0), model, 1).clip == 2.0
    assert make_stand_in(replace(planned, clip=0.7), model, 1).clip == 0.7
    assert make_stand_in(planned, model, 1, scale=3.0).clip == pytest.approx(
        3 * MECHANISMS["laplace"].clip
    )


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_simulated_crowd_learns_as_its_task_would(mechanism: str) -> None:
    """Check for the same mechanism, except for the cost of counts, and for the same rate."""
    data, crowd = classes(), Crowd(devices=20, batch=3)
    learning = Learning(mechanism=mechanism, epsilon=2.0, regularization=0.01, radius=1000.0)
    schedule = schedule_of_crowd(data, crowd, np.random.default_rng(0))
    setup = LearningSetup.of(learning, data, schedule)
    whole: dict[str, Any] = {
        "collection__checkins": schedule.checkins,
        "collection__evaluators": 0,
        "collection__counters": 0,
    }
    task = make_task(
        features__count=7, model__regularization=0.01, privacy__mechanism=mechanism,
        privacy__epsilon=2.0, optimizer__c=None, optimizer__rate=None, collection__buffer=None,
        stop__updates=schedule.n_checkins, **whole if mechanism == "direction" else {},
    )  # fmt: skip
    theirs = task.terms.mechanism()
    if mechanism == "direction":
        assert setup.stand_in.mechanism == theirs
    assert setup.stand_in.length == theirs.length
    assert setup.stand_in.noise_energy <= theirs.noise_energy
    spec = task.optimizer.with_plan(schedule.n_checkins, setup.stand_in, task.reach)
    assert (setup.spec.c, setup.spec.averaging) == (spec.c, spec.averaging)
    assert setup.spec.c is not None
    assert 0 < setup.spec.c < math.inf


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("epsilon", 0.0),
        ("epsilon", math.nan),
        ("c", -1.0),
        ("clip", 0.0),
        ("regularization", -1.0),
        ("model", "forest"),
        ("rate", "cubic"),
        ("optimizer", "adam"),
        ("mechanism", "rumour"),
        ("clip", 0.5),
        ("reach", 0.0),
    ],
)
def test_nonsense_is_rejected(field: str, value: object) -> None:
    with pytest.raises(InvalidInput, match=f"found {value!r}"):
        replace(Learning(c=1.0), **{field: value})  # type: ignore[arg-type]


def test_only_a_planned_rate_needs_no_c() -> None:
    for optimizer, rate in (("adagrad", None), ("sgd", "constant")):
        with pytest.raises(InvalidInput, match=f"found {optimizer} with .*Give c"):
            Learning(optimizer=optimizer, rate=rate)


def test_features_without_a_bound_are_for_no_noise_only() -> None:
    raw = replace(classes(), raw=True)
    with pytest.raises(InvalidInput, match="features without a bound: epsilon must be inf"):
        run_trial(raw, [Plan(CROWD, Learning(epsilon=1.0))], (0,))

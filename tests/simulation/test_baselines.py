"""Test the crowd's baselines against laws, an independent solver and a slow loop."""

import math
from dataclasses import replace

import numpy as np
import pytest

from crowdml.errors import InvalidInput
from crowdml.simulation import (
    Crowd,
    Learning,
    Plan,
    central_batch,
    error_rate,
    guess_error,
    simulate,
)
from crowdml.simulation.baselines import perturb
from crowdml.simulation.decentral import decentralized
from crowdml.simulation.learning_setup import make_model
from crowdml.simulation.plan import APPROACHES
from crowdml.types import Array
from tests.simulation.toy import classes, numbers

RARE = 1e-9


def test_perturbed_features_are_laplace_of_scale_two_over_epsilon_x() -> None:
    """Check the largest gap of distribution functions, with ε_x = ε/2.

    The false-positive rate is ≤ 1e-9.
    """
    data, epsilon = classes(n=20_000), 3.0
    z = (perturb(data, epsilon, np.random.default_rng(0)).x_train - data.x_train).ravel()
    z = np.sort(z / (2.0 / (epsilon / 2)))
    p = np.where(z < 0, np.exp(-np.abs(z)) / 2, 1 - np.exp(-np.abs(z)) / 2)
    gap = np.abs(np.arange(1, len(z) + 1) / len(z) - p).max()
    assert gap < math.sqrt(math.log(2 / RARE) / (2 * len(z)))


def test_perturbed_labels_stay_with_the_papers_probability() -> None:
    """Check Eq. (16) with ε_y = ε/2: e^{ε_y/2} against 1 for each other.

    Hoeffding, ≤ 1e-9 per count.
    """
    data, epsilon, n_classes = classes(n=50_000, n_classes=4), 3.0, 4
    y = perturb(data, epsilon, np.random.default_rng(0)).y_train
    odds = math.exp(epsilon / 4)
    shift = ((y - data.y_train) % n_classes).astype(int)
    shares = np.bincount(shift, minlength=n_classes) / len(y)
    expected = np.array([odds, 1, 1, 1]) / (odds + 3)
    assert np.abs(shares - expected).max() < math.sqrt(math.log(2 / RARE) / (2 * len(y)))


def test_perturbing_leaves_the_test_set_alone_and_needs_labels() -> None:
    data = classes()
    noisy = perturb(data, 1.0, np.random.default_rng(0))
    np.testing.assert_array_equal(noisy.x_test, data.bounded(1).x_test)
    assert noisy.raw, "nobody rescales what was perturbed"
    assert noisy.y_test is data.y_test
    assert perturb(data, math.inf, np.random.default_rng(0)) is data
    with pytest.raises(InvalidInput, match="only labels can be perturbed"):
        perturb(numbers(), 1.0, np.random.default_rng(0))


@pytest.mark.parametrize("strength", [1e-3, 1e-2])
def test_central_batch_is_scikit_learns(strength: float) -> None:
    """Compare with scikit-learn, whose objective is Σ losses + ‖w‖²/(2C), so C = 1/(λn)."""
    from sklearn.linear_model import LogisticRegression

    data = classes(n=2000)
    model = make_model(Learning(), 7, 3)
    w = central_batch(model, data.x_train, data.y_train, strength)
    theirs = LogisticRegression(
        C=1 / (strength * len(data.y_train)), fit_intercept=False, max_iter=5000, tol=1e-8
    ).fit(data.x_train, data.y_train)

    def risk(w: Array) -> float:
        losses = model.losses(w, data.x_train, data.y_train).mean()
        return float(losses + strength / 2 * w.dot(w))

    assert risk(w) == pytest.approx(risk(theirs.coef_.ravel()), rel=1e-3)
    assert risk(w) <= risk(theirs.coef_.ravel()) * (1 + 1e-6)
    theirs_wrong = (theirs.predict(data.x_test) != data.y_test).mean()
    assert error_rate(model, w, data.x_test, data.y_test) == pytest.approx(theirs_wrong, abs=0.005)


@pytest.mark.parametrize(
    ("batch", "intercept", "averaging"), [(1, False, None), (3, True, None), (1, True, 2.0)]
)
def test_decentralized_is_a_loop_over_devices(
    batch: int, intercept: bool, averaging: float | None
) -> None:
    data = classes()
    learning = Learning(
        mechanism="laplace",
        c=5.0,
        regularization=0.01,
        intercept=intercept,
        averaging=averaging,
    )
    crowd = Crowd(devices=12, batch=batch, passes=2)
    curve = decentralized(data, crowd, learning, (3,), points=1)
    model, optimizer = make_model(learning, 7, 3), learning.spec.make(learning.radius)
    rng, errors = np.random.default_rng((3,)), []
    hands = data.deal(12, rng)
    for rows in [np.concatenate([rng.permutation(own) for _ in range(2)]) for own in hands]:
        w = np.zeros(model.size)
        state = optimizer.init(w)
        for first in range(0, len(rows) - batch + 1, batch):
            used = rows[first : first + batch]
            g = model.gradients(w, data.x_train[used], data.y_train[used]).mean(axis=0)
            state, w = optimizer.update(state, w, g + 0.01 * w, 0)
        errors.append(error_rate(model, optimizer.model(state, w), data.x_test, data.y_test))
    assert curve.final == pytest.approx(np.mean(errors), abs=0.002)
    assert (curve.epsilon_per_sample, curve.epsilon_spent, curve.checkins) == (0, 0, 0)


def test_orderings_of_the_paper_on_toy_data() -> None:
    data = classes(n=1500)
    crowd, learning = Crowd(devices=150), Learning(mechanism="laplace", c=30.0)
    curves = simulate(data, [Plan(crowd, learning, name) for name in APPROACHES], trials=2)
    error = {name: curve.final for name, curve in zip(APPROACHES, curves, strict=True)}
    assert error["crowd"] < error["central-batch"] + 0.06
    assert error["central-sgd"] < error["central-batch"] + 0.06
    assert error["decentral"] > error["crowd"] + 0.05


@pytest.mark.parametrize("approach", ["central-batch", "central-sgd"])
def test_central_approaches_cost_epsilon_once_whatever_the_passes(approach: str) -> None:
    plan = Plan(Crowd(devices=30, passes=3), Learning(epsilon=4.0, regularization=0.01), approach)
    curve = simulate(classes(), [plan])[0]
    assert (curve.epsilon_per_sample, curve.epsilon_spent) == (4.0, 40.0)
    assert curve.checkins == 300
    assert curve.samples[-1] == 900


def test_central_sgd_does_not_clip_perturbed_samples() -> None:
    """Check that gradients far above 1 stay.

    Perturbed samples have ‖x‖₁ far above 1, and their gradients need no further protection.
    """
    data = classes()
    crowd, learning = Crowd(devices=30), Learning(mechanism="laplace", epsilon=1.0, c=0.01)
    free, clipped = simulate(
        data, [Plan(crowd, replace(learning, clip=clip), "central-sgd") for clip in (None, 2.0)]
    )
    assert (free.errors != clipped.errors).any()


def test_unknown_approach_is_rejected() -> None:
    with pytest.raises(InvalidInput, match=r"approach must be one of crowd, .* found 'magic'"):
        Plan(Crowd(), Learning(), "magic")


def test_the_simplest_guess_is_what_it_is_called() -> None:
    data = classes()
    guesses = [(data.y_test != label).mean() for label in range(3)]
    most = np.bincount(data.y_train.astype(int)).argmax()
    assert guess_error(data, tolerance=1.0) == guesses[most]
    data = numbers()
    wrong = np.abs(data.y_test - np.median(data.y_train)) > 0.2
    assert guess_error(data, tolerance=0.2) == wrong.mean() > 0


def test_what_the_crowd_is_compared_with_sees_the_same_rows() -> None:
    """Check that rows of any length are first rescaled as the mechanism's devices do it."""
    data = classes()
    long = replace(data, x_train=50 * data.x_train, x_test=50 * data.x_test)
    for mechanism, norm in (("laplace", 1), ("gaussian", 2), ("direction", 2)):
        plans = [
            Plan(Crowd(devices=30), Learning(mechanism=mechanism), name) for name in APPROACHES
        ]
        for one, other in zip(
            simulate(long, plans), simulate(long.bounded(norm), plans), strict=True
        ):
            np.testing.assert_allclose(one.errors, other.errors, atol=0.02)

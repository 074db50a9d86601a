"""Test Ridge and Huber against their definitions and scikit-learn's least squares."""

import numpy as np
import pytest
from scipy.special import huber

from crowdml.models import Huber, Ridge

RNG = np.random.default_rng(6)


def test_huber_loss_is_scipys() -> None:
    model = Huber(n_features=1, delta=0.6)
    r = np.linspace(-3.0, 3.0, 101)
    x = np.ones((101, 1))
    assert np.allclose(model.losses(np.zeros(1), x, r), huber(0.6, r))


def test_huber_is_ridge_inside_delta() -> None:
    """Check that Huber's gradient equals Ridge's inside delta and is constant outside."""
    ridge, model = Ridge(n_features=2), Huber(n_features=2, delta=0.5)
    w, x = np.array([0.3, -0.2]), np.array([[0.5, 0.5], [0.5, 0.5]])
    y = np.array([0.2, 3.0])
    near, far = model.gradients(w, x, y)
    assert np.array_equal(near, ridge.gradients(w, x, y)[0])
    assert far.tolist() == [-0.25, -0.25]


def test_least_squares_has_no_gradient() -> None:
    from sklearn.linear_model import LinearRegression

    x = RNG.normal(size=(50, 3))
    y = x @ np.array([1.0, -2.0, 0.5]) + 0.3 + 0.1 * RNG.normal(size=50)
    theirs = LinearRegression().fit(x, y)
    model = Ridge(n_features=3, intercept=True)
    w = np.array([*theirs.coef_, theirs.intercept_])
    assert np.abs(model.mean_gradient(w, x, y, np.inf)).max() < 1e-12
    assert np.abs(model.mean_gradient(1.01 * w, x, y, np.inf)).max() > 1e-3


@pytest.mark.parametrize("model", [Ridge(1, tolerance=0.5), Huber(1, tolerance=0.5, delta=0.1)])
def test_tolerance_itself_is_no_mistake(model: Ridge) -> None:
    w, x = np.zeros(1), np.ones((4, 1))
    y = np.array([0.5, -0.5, 0.50001, -0.50001])
    assert model.mistakes(w, x, y).tolist() == [False, False, True, True]

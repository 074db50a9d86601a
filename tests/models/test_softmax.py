"""Test multiclass logistic regression against Table I written out, and against scikit-learn."""

import math

import numpy as np
import pytest

from crowdml.models import Softmax

RNG = np.random.default_rng(3)


def test_table_1() -> None:
    """Compare prediction, loss and gradient with the table, one number at a time."""
    model = Softmax(n_features=3, n_classes=4)
    w = RNG.normal(size=(4, 3))
    x = RNG.normal(size=3)
    scores = [sum(w[k][j] * x[j] for j in range(3)) for k in range(4)]
    exps = [math.exp(s) for s in scores]
    for y in range(4):
        args = w.ravel(), x[None, :], np.array([float(y)])
        assert model.predict(*args[:2])[0] == scores.index(max(scores))
        expected = -scores[y] + math.log(sum(exps))
        assert model.losses(*args)[0] == pytest.approx(expected, rel=1e-12)
        gradient = model.gradients(*args)[0].reshape(4, 3)
        for k in range(4):
            for j in range(3):
                expected = x[j] * (exps[k] / sum(exps) - (y == k))
                assert gradient[k, j] == pytest.approx(expected, rel=1e-11, abs=1e-14)


def test_huge_scores_do_not_overflow() -> None:
    model = Softmax(n_features=1, n_classes=2)
    w, x = np.array([3e38, -3e38]), np.array([[1.0]])
    assert model.losses(w, x, np.array([0.0]))[0] == 0.0
    assert model.losses(w, x, np.array([1.0]))[0] == pytest.approx(6e38)
    assert model.gradients(w, x, np.array([1.0])).tolist() == [[1.0, -1.0]]


@pytest.mark.parametrize("intercept", [False, True])
def test_scikit_learn_finds_the_same_minimum(intercept: bool) -> None:
    """Check that our gradient is minus the penalty's gradient where scikit-learn stops.

    At that point the gradient of scikit-learn's objective is zero.
    """
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import log_loss

    n, d, k, inverse_penalty = 200, 3, 3, 5.0
    x = RNG.normal(size=(n, d))
    y = RNG.integers(0, k, size=n).astype(float)
    theirs = LogisticRegression(
        C=inverse_penalty, fit_intercept=intercept, tol=1e-10, max_iter=10_000
    ).fit(x, y)
    model = Softmax(d, k, intercept)
    weights = theirs.coef_.ravel()
    w = np.concatenate([weights, theirs.intercept_]) if intercept else weights
    assert np.array_equal(model.predict(w, x), theirs.predict(x))
    loss = log_loss(y, theirs.predict_proba(x))
    assert model.losses(w, x, y).mean() == pytest.approx(loss, rel=1e-10)
    penalty = np.zeros(model.size)
    penalty[: d * k] = weights / (inverse_penalty * n)
    assert np.allclose(model.mean_gradient(w, x, y, np.inf), -penalty, atol=1e-6)
    assert np.abs(penalty).max() > 1e-5

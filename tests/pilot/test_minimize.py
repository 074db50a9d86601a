import numpy as np
import pytest
from scipy.optimize import minimize as reference

from crowdml.models import Hinge, Huber, Model, Ridge, Softmax
from crowdml.pilot.minimize import minimize
from crowdml.types import Array

MODELS = [Softmax(4, 3, True), Hinge(4, 3), Ridge(4, intercept=True), Huber(4)]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_it_is_as_low_as_the_reference(model: Model) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 4))
    y = rng.integers(0, 3, 60).astype(float) if model.n_classes else 3 * x[:, 0] + rng.normal(60)

    def risk(w: Array) -> tuple[float, Array]:
        value = model.losses(w, x, y).mean() + 0.005 * (w @ w)
        return float(value), model.mean_gradient(w, x, y, np.inf) + 0.01 * w

    start = np.zeros(model.size)
    lowest = reference(risk, start, jac=True, method="L-BFGS-B", tol=1e-14).fun
    slack = 1e-3 if isinstance(model, Hinge) else 1e-9
    assert risk(minimize(risk, start))[0] <= lowest * (1 + slack)


def test_it_ends_where_no_step_is_lower() -> None:
    assert minimize(lambda w: (float(np.abs(w).sum()), np.sign(w) + (w == 0)), np.zeros(2)) == (
        pytest.approx([0, 0])
    )

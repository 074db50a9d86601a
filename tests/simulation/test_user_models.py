"""Test that a user's own model and optimizer run slowly, with a warning that says so."""

import numpy as np
import pytest

from crowdml.models import Softmax
from crowdml.optim import Optimizer, OptimizerState
from crowdml.simulation import Crowd, Learning, Plan, load_digits, simulate
from crowdml.types import Array

CROWD = Crowd(devices=50, batch=5)


class Cautious(Softmax):
    """Halve the loss, and so the gradient."""

    def slopes(self, s: Array, y: Array) -> Array:
        return 0.5 * super().slopes(s, y)


def sign_descent(step: float) -> Optimizer:
    def init(w: Array) -> OptimizerState:
        return {}

    def update(
        state: OptimizerState, w: Array, g: Array, device: int
    ) -> tuple[OptimizerState, Array]:
        return state, w - step * np.sign(g)

    return Optimizer(init, update)


def test_own_model_is_the_one_that_learns() -> None:
    """Check that half the gradient at twice the rate is the same path, to single precision."""
    own = Learning(mechanism="laplace", c=100.0, own_model=lambda d, c: Cautious(d, c))
    with pytest.warns(UserWarning, match="not compiled and runs in plain NumPy"):
        slow = simulate(load_digits(), [Plan(CROWD, own)], seed=3)[0]
    same = Learning(mechanism="laplace", c=50.0)
    fast = simulate(load_digits(), [Plan(CROWD, same)], seed=3)[0]
    assert slow.errors == pytest.approx(fast.errors, abs=0.02)
    assert slow.final < 0.5


def test_own_optimizer_is_the_one_that_steps() -> None:
    own = Learning(own_optimizer=sign_descent(0.05))
    with pytest.warns(UserWarning, match="this model or optimizer"):
        curve = simulate(load_digits(), [Plan(CROWD, own)], seed=3)[0]
    assert curve.final < 0.5

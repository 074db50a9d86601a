"""Step with projected stochastic (sub)gradient descent."""

import math

import numpy as np

from crowdml.optim.optimizer import Optimizer, OptimizerState
from crowdml.optim.projection import project
from crowdml.optim.rates import Rate
from crowdml.types import Array


def sgd(rate: Rate, radius: float = math.inf) -> Optimizer:
    """Make the optimizer w ← Π[w − η(t)·g].

    Paper: Eq. (3).

    >>> from crowdml.optim.rates import constant
    >>> init, update, _ = sgd(constant(0.5))
    >>> w = np.zeros(2)
    >>> state, w = update(init(w), w, np.array([1.0, -2.0]), 0)
    >>> w
    array([-0.5,  1. ])
    """

    def init(w: Array) -> OptimizerState:
        return {"t": 0}

    def update(
        state: OptimizerState, w: Array, g: Array, device: int
    ) -> tuple[OptimizerState, Array]:
        t = state["t"] + 1
        step = g * rate(t)
        return {"t": t}, project(np.subtract(w, step, out=step), radius)

    return Optimizer(init, update)

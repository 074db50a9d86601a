"""Step with AdaGrad, which has one learning rate per parameter."""

import math

import numpy as np

from crowdml.optim.optimizer import Optimizer, OptimizerState
from crowdml.optim.projection import project
from crowdml.optim.rates import check_constant
from crowdml.types import Array


def adagrad(c: float, radius: float = math.inf, floor: float = 1e-12) -> Optimizer:
    """Make the optimizer w ← Π[w − c·g/√(Σ g²)], element by element.

    A large gradient, from an outlying or malicious device, shrinks later steps of the parameters
    that it changed.

    Paper: Remark 3. Reference: J. Duchi, E. Hazan, Y. Singer, COLT 2010.

    >>> init, update, _ = adagrad(c=0.1)
    >>> w = np.zeros(2)
    >>> state, w = update(init(w), w, np.array([100.0, -0.01]), 0)
    >>> w
    array([-0.1,  0.1])
    """
    check_constant(c)

    def init(w: Array) -> OptimizerState:
        return {"squares": np.zeros_like(w)}

    def update(
        state: OptimizerState, w: Array, g: Array, device: int
    ) -> tuple[OptimizerState, Array]:
        squares = g * g
        squares += state["squares"]
        pace = np.maximum(squares, floor)
        step = c * g
        step /= np.sqrt(pace, out=pace)
        return {"squares": squares}, project(np.subtract(w, step, out=step), radius)

    return Optimizer(init, update)

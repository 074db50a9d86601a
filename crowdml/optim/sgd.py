"""Projected stochastic (sub)gradient descent."""

import math

import numpy as np

from crowdml.optim.optimizer import Optimizer, State
from crowdml.optim.projection import project
from crowdml.optim.rates import Rate
from crowdml.types import Array

__all__ = ["sgd"]


def sgd(rate: Rate, radius: float = math.inf) -> Optimizer:
    """w ← Π[w − η(t)·g].

    Paper: Eq. (3).

    >>> from crowdml.optim.rates import constant
    >>> init, update, _ = sgd(constant(0.5))
    >>> w = np.zeros(2)
    >>> state, w = update(init(w), w, np.array([1.0, -2.0]), 0)
    >>> w
    array([-0.5,  1. ])
    """

    def init(w: Array) -> State:
        return {"t": np.zeros(1)}

    def update(state: State, w: Array, g: Array, device: int) -> tuple[State, Array]:
        t = state["t"]
        t[0] += 1
        step = g * rate(int(t[0]))
        return state, project(np.subtract(w, step, out=step), radius)

    return Optimizer(init, update)

"""Nesterov's dual averaging."""

import math

import numpy as np

from crowdml.optim.optimizer import Optimizer, State
from crowdml.optim.projection import project
from crowdml.optim.rates import check_constant
from crowdml.types import Array

__all__ = ["dual_averaging"]


def dual_averaging(c: float, radius: float = math.inf) -> Optimizer:
    """w(t+1) = Π[w(1) − (c/√t)·Σ_{i≤t} g(i)].

    Every gradient, old or new, has the same weight in the sum, so a late one does no more harm
    than an early one.

    Paper: Remark 3. Reference: Y. Nesterov, Mathematical Programming 120 (2009).

    >>> init, update, _ = dual_averaging(c=1.0)
    >>> w = np.zeros(1)
    >>> state = init(w)
    >>> for _ in range(4):
    ...     state, w = update(state, w, np.array([1.0]), 0)
    >>> w                                       # −(1/√4)·4
    array([-2.])
    """
    check_constant(c)

    def init(w: Array) -> State:
        return {"t": np.zeros(1), "start": w.copy(), "sum": np.zeros_like(w)}

    def update(state: State, w: Array, g: Array, device: int) -> tuple[State, Array]:
        state["t"][0] += 1
        state["sum"] += g
        step = c / math.sqrt(state["t"][0])
        return state, project(state["start"] - step * state["sum"], radius)

    return Optimizer(init, update)

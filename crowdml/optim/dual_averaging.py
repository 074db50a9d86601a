"""Step with Nesterov's dual averaging."""

import math

import numpy as np

from crowdml.optim.optimizer import Optimizer, OptimizerState
from crowdml.optim.projection import project
from crowdml.optim.rates import check_constant
from crowdml.types import Array


def dual_averaging(c: float, radius: float = math.inf) -> Optimizer:
    """Make the optimizer w(t+1) = Π[w(1) − (c/√t)·Σ_{i≤t} g(i)].

    Every gradient has the same weight in the sum, so a late gradient does as little harm as an
    early one.

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

    def init(w: Array) -> OptimizerState:
        return {"t": 0, "start": w.copy(), "sum": np.zeros_like(w)}

    def update(
        state: OptimizerState, w: Array, g: Array, device: int
    ) -> tuple[OptimizerState, Array]:
        t, total = state["t"] + 1, state["sum"] + g
        step = total * (c / math.sqrt(t))
        w = np.subtract(state["start"], step, out=step)
        return {"t": t, "start": state["start"], "sum": total}, project(w, radius)

    return Optimizer(init, update)

"""Step with the stochastic average gradient, averaged over devices instead of samples."""

import math

import numpy as np

from crowdml.optim.frozen_rows import FrozenRows
from crowdml.optim.optimizer import Optimizer, OptimizerState
from crowdml.optim.projection import project
from crowdml.optim.rates import Rate
from crowdml.types import Array


def average_gradient(rate: Rate, radius: float = math.inf) -> Optimizer:
    """Make the optimizer w ← Π[w − η(t)·(1/m)·Σ_j g_j], where g_j is device j's newest gradient.

    m is the number of devices that have checked in. Memory is m × parameters, so this optimizer
    suits crowds of thousands, not millions. Under local privacy each remembered gradient carries
    the noise of one check-in. The average over m devices divides the variance of that noise by m,
    but it uses older gradients.

    Paper: Remark 3. Reference: N. Le Roux, M. Schmidt, F. Bach, NIPS 2012.

    >>> from crowdml.optim.rates import constant
    >>> init, update, _ = average_gradient(constant(1.0))
    >>> w = np.zeros(1)
    >>> state, w = update(init(w), w, np.array([1.0]), 0)
    >>> state, w = update(state, w, np.array([3.0]), 1)
    >>> w                                       # −1 − (1 + 3)/2
    array([-3.])
    """

    def init(w: Array) -> OptimizerState:
        return {
            "t": 0,
            "heard": np.zeros(0),
            "newest": FrozenRows(len(w)),
            "sum": np.zeros_like(w),
        }

    def update(
        state: OptimizerState, w: Array, g: Array, device: int
    ) -> tuple[OptimizerState, Array]:
        heard, newest = state["heard"], FrozenRows.of(state["newest"])
        (rows,) = np.nonzero(heard == device)
        if rows.size:
            row, total = int(rows[0]), g - newest[int(rows[0])]
        else:
            row, total, heard = len(heard), g.copy(), np.append(heard, device)
        total += state["sum"]
        t = state["t"] + 1
        step = total * (rate(t) / len(heard))
        new: OptimizerState = {
            "t": t,
            "heard": heard,
            "newest": newest.with_row(row, g),
            "sum": total,
        }
        return new, project(np.subtract(w, step, out=step), radius)

    return Optimizer(init, update)

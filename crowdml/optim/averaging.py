"""Averaging of iterates, as a wrapper around any optimizer."""

import numpy as np

from crowdml.optim.optimizer import Optimizer, State
from crowdml.types import Array

__all__ = ["averaged"]


def averaged(inner: Optimizer, power: float = 8.0) -> Optimizer:
    """Publish a polynomial-decay average of the iterates; keep stepping on the newest one.

    w̄(t) = (1 − α)·w̄(t−1) + α·w(t) with α = (p+1)/(t+p): p = 0 is the plain average,
    larger p forgets the beginning faster (about the last t/(p+1) iterates count).
    Averaging takes noise out of the result without touching the devices.

    Reference: O. Shamir and T. Zhang, ICML 2013.

    >>> from crowdml.optim import constant, sgd
    >>> init, update, model = averaged(sgd(constant(1.0)), power=0)
    >>> w = np.zeros(1)
    >>> state = init(w)
    >>> for g in (-1.0, -1.0, -1.0):
    ...     state, w = update(state, w, np.array([g]), 0)
    >>> w, model(state, w)                      # the newest of 1, 2, 3, and their mean
    (array([3.]), array([2.]))
    """

    def init(w: Array) -> State:
        return {**inner.init(w), "average": w.copy(), "averaged": np.zeros(1)}

    def update(state: State, w: Array, g: Array, device: int) -> tuple[State, Array]:
        average, averaged_steps = state["average"], state["averaged"]
        state, w = inner.update(state, w, g, device)
        averaged_steps[0] += 1
        weight = (power + 1) / (averaged_steps[0] + power)
        step = w - average
        step *= weight
        average += step
        return {**state, "average": average, "averaged": averaged_steps}, w

    def model(state: State, w: Array) -> Array:
        return state["average"].copy()

    return Optimizer(init, update, model)

"""Stochastic average gradient, with devices in the place of samples."""

import math

import numpy as np

from crowdml.optim.optimizer import Optimizer, State
from crowdml.optim.projection import project
from crowdml.optim.rates import Rate
from crowdml.types import Array

__all__ = ["average_gradient"]


def average_gradient(rate: Rate, radius: float = math.inf) -> Optimizer:
    """w ← Π[w − η(t)·(1/m)·Σ_j g_j], where g_j is the newest gradient of device j.

    m is the number of devices heard so far. Memory is m × parameters, so this is for crowds of
    thousands, not millions; devices that never check in cost nothing. Under local privacy each
    remembered gradient carries the noise of one check-in; the average over m devices divides its
    variance by m, at the price of older gradients.

    Paper: Remark 3. Reference: N. Le Roux, M. Schmidt, F. Bach, NIPS 2012.

    >>> from crowdml.optim.rates import constant
    >>> init, update, _ = average_gradient(constant(1.0))
    >>> w = np.zeros(1)
    >>> state, w = update(init(w), w, np.array([1.0]), 0)
    >>> state, w = update(state, w, np.array([3.0]), 1)
    >>> w                                       # −1 − (1 + 3)/2
    array([-3.])
    """

    def init(w: Array) -> State:
        return {
            "t": np.zeros(1),
            "m": np.zeros(1),
            "heard": np.zeros(0),
            "newest": np.zeros((0, len(w))),
            "sum": np.zeros_like(w),
        }

    def update(state: State, w: Array, g: Array, device: int) -> tuple[State, Array]:
        m = int(state["m"][0])
        (rows,) = np.nonzero(state["heard"][:m] == device)
        row = int(rows[0]) if rows.size else m
        if row == m:
            state = _with_room(state, m)
            state["heard"][row] = device
            m += 1
            state["m"][0] = m
        state["t"][0] += 1
        state["sum"] += g - state["newest"][row]
        state["newest"][row] = g
        step = rate(int(state["t"][0])) / m
        return state, project(w - step * state["sum"], radius)

    return Optimizer(init, update)


def _with_room(state: State, m: int) -> State:
    """Rows for devices to come, doubled so that growing costs little per device."""
    heard, newest = state["heard"], state["newest"]
    if m < len(heard):
        return state
    more = max(16, m)
    return {
        **state,
        "heard": np.concatenate([heard, np.zeros(more)]),
        "newest": np.concatenate([newest, np.zeros((more, newest.shape[1]))]),
    }

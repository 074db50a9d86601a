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

    m is the number of devices heard so far. Memory is devices × parameters, so this is for
    crowds of thousands, not millions. Under local privacy each remembered gradient carries the
    noise of one check-in; the average over m devices divides its variance by m, at the price of
    older gradients.

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
            "heard": np.zeros(0),
            "newest": np.zeros((0, len(w))),
            "sum": np.zeros_like(w),
        }

    def update(state: State, w: Array, g: Array, device: int) -> tuple[State, Array]:
        if device >= len(state["heard"]):
            state = {**state, **_grown(state, rows=max(16, 2 * device))}
        state["t"][0] += 1
        state["sum"] += g - state["newest"][device]
        state["newest"][device] = g
        state["heard"][device] = 1
        step = rate(int(state["t"][0])) / state["heard"].sum()
        return state, project(w - step * state["sum"], radius)

    return Optimizer(init, update)


def _grown(state: State, rows: int) -> State:
    """Room for more devices, doubled so that growing costs little per device."""
    heard, newest = state["heard"], state["newest"]
    more = rows - len(heard)
    return {
        "heard": np.concatenate([heard, np.zeros(more)]),
        "newest": np.concatenate([newest, np.zeros((more, newest.shape[1]))]),
    }

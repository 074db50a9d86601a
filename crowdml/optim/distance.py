"""An automatic rate: distance over gradients."""

import math

import numpy as np

from crowdml.optim.optimizer import Optimizer, State
from crowdml.optim.projection import project
from crowdml.types import Array

__all__ = ["distance_over_gradients"]


def distance_over_gradients(radius: float = math.inf, first_step: float = 0.1) -> Optimizer:
    """η(t) = max_{i≤t} ‖w(i) − w(1)‖ / √(Σ_{i≤t} ‖g(i)‖²): no rate to choose.

    Chosen over vSGD, which needs curvature that devices do not send. The rule is proved to
    match the best fixed rate up to logarithms for stochastic convex problems; noise enlarges
    the denominator and so slows the steps by itself. Best with `averaged`.

    Paper: Remark 3 (adaptive rates). Reference: M. Ivgi, O. Hinder, Y. Carmon, ICML 2023.

    Args:
        radius: R.
        first_step: The assumed distance before there is one; the result depends on it only
            through a logarithm.

    >>> init, update, _ = distance_over_gradients(first_step=0.1)
    >>> w = np.zeros(2)
    >>> state, w = update(init(w), w, np.array([300.0, 400.0]), 0)
    >>> w.round(3)                              # 0.1 against the gradient, whatever its length
    array([-0.06, -0.08])
    """

    def init(w: Array) -> State:
        return {"start": w.copy(), "reach": np.array([first_step]), "squares": np.zeros(1)}

    def update(state: State, w: Array, g: Array, device: int) -> tuple[State, Array]:
        away = w - state["start"]
        state["reach"][0] = max(state["reach"][0], math.sqrt(away.dot(away)))
        state["squares"][0] += g.dot(g)
        total = state["squares"][0]
        step = state["reach"][0] / math.sqrt(total) if total > 0 else 0.0
        return state, project(w - step * g, radius)

    return Optimizer(init, update)

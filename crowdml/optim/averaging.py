"""Average the iterates of any optimizer."""

from crowdml.optim.optimizer import Optimizer, OptimizerState
from crowdml.types import Array


def averaged(inner: Optimizer, power: float = 8.0) -> Optimizer:
    """Publish a polynomial-decay average of the iterates; keep stepping on the newest one.

    w̄(t) = (1 − α)·w̄(t−1) + α·w(t) with α = (p+1)/(t+p). p = 0 is the plain average; a larger p
    forgets the beginning faster (about the last t/(p+1) iterates count). Averaging reduces the
    noise of the result and changes nothing on the devices.

    Reference: O. Shamir and T. Zhang, ICML 2013.

    >>> import numpy as np
    >>> from crowdml.optim import constant, sgd
    >>> init, update, model = averaged(sgd(constant(1.0)), power=0)
    >>> w = np.zeros(1)
    >>> state = init(w)
    >>> for g in (-1.0, -1.0, -1.0):
    ...     state, w = update(state, w, np.array([g]), 0)
    >>> w, model(state, w)                      # the newest of 1, 2, 3, and their mean
    (array([3.]), array([2.]))
    """

    def init(w: Array) -> OptimizerState:
        return {**inner.init(w), "average": w.copy(), "averaged": 0}

    def update(
        state: OptimizerState, w: Array, g: Array, device: int
    ) -> tuple[OptimizerState, Array]:
        steps = state["averaged"] + 1
        own, w = inner.update(state, w, g, device)
        average = w - state["average"]
        average *= (power + 1) / (steps + power)
        average += state["average"]
        return {**own, "average": average, "averaged": steps}, w

    return Optimizer(init, update, lambda state, w: state["average"])

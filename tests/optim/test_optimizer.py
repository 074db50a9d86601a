"""Test that every optimizer passes the conformance suite, which finds planted faults."""

from typing import Any

import numpy as np
import pytest

from crowdml.checks import check_optimizer
from crowdml.optim import (
    Optimizer,
    OptimizerState,
    adagrad,
    average_gradient,
    averaged,
    constant,
    dual_averaging,
    inverse,
    inverse_sqrt,
    sgd,
)
from crowdml.types import Array

R = 1.5

OPTIMIZERS = {
    "sgd-sqrt": lambda radius: sgd(inverse_sqrt(0.5), radius),
    "sgd-constant": lambda radius: sgd(constant(0.1), radius),
    "sgd-inverse": lambda radius: sgd(inverse(1.0), radius),
    "adagrad": lambda radius: adagrad(0.3, radius),
    "dual-averaging": lambda radius: dual_averaging(0.3, radius),
    "average-gradient": lambda radius: average_gradient(constant(0.1), radius),
    "average-gradient-sqrt": lambda radius: average_gradient(inverse_sqrt(0.5), radius),
    "averaged-sgd": lambda radius: averaged(sgd(inverse_sqrt(0.5), radius)),
    "averaged-adagrad-plain": lambda radius: averaged(adagrad(0.3, radius), power=0.0),
    "averaged-dual": lambda radius: averaged(dual_averaging(0.3, radius)),
    "averaged-average-gradient": lambda radius: averaged(average_gradient(constant(0.1), radius)),
}


@pytest.mark.parametrize("radius", [R, np.inf])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_conforms(name: str, radius: float) -> None:
    check_optimizer(OPTIMIZERS[name](radius), radius, np.random.default_rng(12))


def hidden_state() -> Optimizer:
    t = [0]

    def update(
        state: OptimizerState, w: Array, g: Array, device: int
    ) -> tuple[OptimizerState, Array]:
        t[0] += 1
        return state, w - 0.5 * g / np.sqrt(t[0])

    return Optimizer(lambda w: {}, update)


def forgotten_on_restart() -> Optimizer:
    """Round the sum when it is stored, so that a restart gives a different result."""

    def update(
        state: OptimizerState, w: Array, g: Array, device: int
    ) -> tuple[OptimizerState, Array]:
        exact: Any = getattr(state["sum"], "exact", state["sum"])
        total: Array = exact + g
        rounded = total.astype(np.float32).view(Exact)
        rounded.exact = total
        return {"sum": rounded}, -0.1 * total

    return Optimizer(lambda w: {"sum": np.zeros_like(w)}, update)


class Exact(np.ndarray):
    exact: Any


def object_state() -> Optimizer:
    state: Any = {"t": np.array([None])}
    return Optimizer(lambda w: state, lambda s, w, g, device: (s, w - 0.1 * g))


def in_place(what: str) -> Optimizer:
    def update(
        state: OptimizerState, w: Array, g: Array, device: int
    ) -> tuple[OptimizerState, Array]:
        if what == "g":
            g *= 0.1
            return state, w - g
        if what == "w":
            w -= 0.1 * g
            return state, w
        state["sum"][:] += g
        return {"sum": state["sum"]}, -0.1 * state["sum"]

    return Optimizer(lambda w: {"sum": np.zeros_like(w)}, update)


def uphill() -> Optimizer:
    return Optimizer(lambda w: {}, lambda state, w, g, device: (state, w + 0.001 * g))


def divides_by_gradient() -> Optimizer:
    def update(
        state: OptimizerState, w: Array, g: Array, device: int
    ) -> tuple[OptimizerState, Array]:
        with np.errstate(invalid="ignore"):
            return state, w - 0.1 * g / np.linalg.norm(g)

    return Optimizer(lambda w: {}, update)


def changed_row() -> Optimizer:
    """Change a row of the old state in place.

    A table of the devices' newest gradients does this if it is copied only where it is read.
    """
    inner = average_gradient(constant(0.1))

    def update(
        state: OptimizerState, w: Array, g: Array, device: int
    ) -> tuple[OptimizerState, Array]:
        new, stepped = inner.update(state, w, g, device)
        if len(state["newest"]):
            state["newest"][0][:] = 0.0
        return new, stepped

    return Optimizer(inner.init, update)


@pytest.mark.parametrize(
    ("optimizer", "radius", "complaint"),
    [
        (hidden_state(), np.inf, "the same gradients must give the same"),
        (forgotten_on_restart(), np.inf, "a restart after 1 steps must change nothing"),
        (object_state(), np.inf, "numbers, found t of dtype object"),
        (in_place("g"), np.inf, "same parameters|must not change g"),
        (in_place("w"), np.inf, "must not change w"),
        (in_place("state"), np.inf, "must not change state sum"),
        (changed_row(), np.inf, "must not change state newest"),
        (sgd(constant(0.1)), R, "within the radius 1.5, found a norm of"),
        (uphill(), np.inf, "must leave less than 0.25"),
        (divides_by_gradient(), np.inf, "zero gradients must move nothing, found .*nan"),
    ],
)
def test_finds_planted_fault(optimizer: Optimizer, radius: float, complaint: str) -> None:
    with pytest.raises(AssertionError, match=complaint):
        check_optimizer(optimizer, radius, np.random.default_rng(12))

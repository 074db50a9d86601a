"""Test each update rule against its formula, written out slowly over the whole history."""

from collections.abc import Callable

import numpy as np
import pytest

from crowdml.optim import (
    OPTIMIZERS,
    Optimizer,
    adagrad,
    average_gradient,
    averaged,
    constant,
    dual_averaging,
    inverse,
    inverse_sqrt,
    make_optimizer,
    sgd,
)
from crowdml.types import Array

SIZE, STEPS, R = 3, 60, 0.8
RNG = np.random.default_rng(8)
START = np.array([0.1, -0.2, 0.3])
GRADIENTS = RNG.normal(size=(STEPS, SIZE)) * RNG.choice([0.01, 1.0, 5.0], size=(STEPS, 1)) + 0.4
DEVICES = RNG.integers(0, 40, size=STEPS).tolist()


def ball(w: Array) -> Array:
    return w if np.linalg.norm(w) <= R else w * (R / np.linalg.norm(w))


def iterates(optimizer: Optimizer) -> tuple[list[Array], Array]:
    state, w, path = optimizer.init(START), START, []
    for g, device in zip(GRADIENTS, DEVICES, strict=True):
        state, w = optimizer.update(state, w, g, device)
        path.append(w)
    return path, optimizer.model(state, w)


def slow_sgd(rate: Callable[[int], float]) -> list[Array]:
    path = [START]
    for t, g in enumerate(GRADIENTS, start=1):
        path.append(ball(path[-1] - rate(t) * g))
    return path[1:]


def slow_adagrad(c: float) -> list[Array]:
    path = [START]
    for t in range(1, STEPS + 1):
        past = np.sqrt(np.sum(GRADIENTS[:t] ** 2, axis=0))
        path.append(ball(path[-1] - c * GRADIENTS[t - 1] / past))
    return path[1:]


def slow_dual_averaging(c: float) -> list[Array]:
    return [ball(START - c / np.sqrt(t) * GRADIENTS[:t].sum(axis=0)) for t in range(1, STEPS + 1)]


def slow_average_gradient(rate: Callable[[int], float]) -> list[Array]:
    path = [START]
    for t in range(1, STEPS + 1):
        newest = {DEVICES[i]: GRADIENTS[i] for i in range(t)}
        path.append(ball(path[-1] - rate(t) * np.mean(list(newest.values()), axis=0)))
    return path[1:]


@pytest.mark.parametrize(
    ("fast", "slow"),
    [
        (sgd(inverse_sqrt(0.7), R), slow_sgd(lambda t: 0.7 / t**0.5)),
        (sgd(constant(0.03), R), slow_sgd(lambda t: 0.03)),
        (sgd(inverse(0.7), R), slow_sgd(lambda t: 0.7 / t)),
        (adagrad(0.4, R), slow_adagrad(0.4)),
        (dual_averaging(0.1, R), slow_dual_averaging(0.1)),
        (average_gradient(constant(0.05), R), slow_average_gradient(lambda t: 0.05)),
        (average_gradient(inverse_sqrt(0.1), R), slow_average_gradient(lambda t: 0.1 / t**0.5)),
    ],
)
def test_iterates(fast: Optimizer, slow: list[Array]) -> None:
    path, model = iterates(fast)
    assert np.allclose(path, slow, rtol=1e-9, atol=1e-12)
    assert np.array_equal(model, path[-1])
    norms = np.linalg.norm(path, axis=1)
    # The case is only useful if the projection acts on some of the steps, but not on all.
    assert norms.max() > R * (1 - 1e-9)
    assert norms.min() < 0.9 * R


@pytest.mark.parametrize("power", [0.0, 3.0, 8.0])
def test_average_of_iterates(power: float) -> None:
    """Check the weight of iterate s, α_s·∏_{r>s}(1 − α_r), and that the weights add up to 1."""
    path, model = iterates(averaged(sgd(inverse_sqrt(0.7), R), power))
    plain, _ = iterates(sgd(inverse_sqrt(0.7), R))
    assert np.array_equal(path, plain)
    alpha = [(power + 1) / (t + power) for t in range(1, STEPS + 1)]
    weights = [a * np.prod([1 - b for b in alpha[s + 1 :]]) for s, a in enumerate(alpha)]
    assert sum(weights) == pytest.approx(1.0)
    assert np.allclose(model, np.array(weights) @ np.array(path), rtol=1e-10)


def test_plain_average() -> None:
    path, model = iterates(averaged(sgd(constant(0.03), R), power=0.0))
    assert np.allclose(model, np.mean(path, axis=0), rtol=1e-10)


def test_average_gradient_remembers_only_the_devices_it_heard() -> None:
    optimizer = average_gradient(constant(1.0))
    w = np.zeros(1)
    state = optimizer.init(w)
    devices = [0, 15, 10**9, *range(100, 120), 3]
    for device in devices:
        state, w = optimizer.update(state, w, np.array([1.0]), device)
    assert w.tolist() == [-len(devices)]
    assert state["heard"][: len(devices)].tolist() == devices
    assert len(state["newest"]) == len(devices)


def test_adagrad_tames_an_outlier() -> None:
    """Check that one huge gradient moves each parameter by at most c.

    It slows only the parameters that it touched.
    """
    optimizer = adagrad(c=0.1)
    w = np.zeros(2)
    state, w = optimizer.update(optimizer.init(w), w, np.array([1e6, 0.0]), 0)
    assert w.tolist() == [-0.1, 0.0]
    _, after = optimizer.update(state, w, np.array([1.0, 1.0]), 1)
    assert abs(after[0] - w[0]) < 1e-6
    assert after[1] == pytest.approx(-0.1)


def test_what_is_left_out() -> None:
    """Check the defaults: averages have a power of 8, and two kinds of optimizer take a rate."""
    plain = averaged(sgd(constant(0.03)))
    eighth = make_optimizer("sgd", "constant", 0.03, np.inf, averaging=8.0)
    assert np.array_equal(iterates(plain)[1], iterates(eighth)[1])
    assert {name for name in OPTIMIZERS if OPTIMIZERS[name].has_rate} == {"sgd", "average-gradient"}

"""Check every optimizer: a visible state, a bounded domain, and steps that go downhill."""

import io
from collections.abc import Mapping
from typing import Any

import numpy as np

from crowdml.optim import Optimizer, OptimizerState, read_state
from crowdml.types import Array, Ints

SIZE = 6
N_STEPS = 40
DEVICES = 20


def check_optimizer(optimizer: Optimizer, radius: float, rng: np.random.Generator) -> None:
    """Raise `AssertionError` unless the optimizer keeps every promise of `Optimizer`.

    Args:
        optimizer: Any `(init, update, model)`, with a rate suited to gradients of length one.
        radius: R, the radius that it projects onto; `inf` for none.
        rng: The generator of the trial gradients; nothing else here is random.

    >>> from crowdml.optim import constant, sgd
    >>> check_optimizer(sgd(constant(0.1), radius=2.0), 2.0, np.random.default_rng(1))
    """
    gradients = rng.normal(size=(N_STEPS, SIZE))
    devices = rng.integers(0, DEVICES, size=N_STEPS)
    _check_state(optimizer.init(np.zeros(SIZE)))
    _check_same_twice(optimizer, gradients, devices)
    _check_restart(optimizer, gradients, devices)
    _check_purity(optimizer, gradients, devices)
    _check_projection(optimizer, gradients, devices, radius)
    _check_zero_gradients(optimizer)
    _check_downhill(optimizer, radius, rng)


def _check_state(state: OptimizerState) -> None:
    kind = type(state).__name__
    assert isinstance(state, Mapping), f"a state must be a mapping of names, found {kind}."
    for name, value in state.items():
        assert isinstance(name, str), f"a state's names must be text, found {name!r}."
        dtype = np.asarray(value).dtype
        assert dtype.kind in "fiub", f"a state must hold numbers, found {name} of dtype {dtype}."


def _check_same_twice(optimizer: Optimizer, gradients: Array, devices: Ints) -> None:
    first, second = (_run(optimizer, gradients, devices) for _ in range(2))
    assert np.array_equal(first, second), (
        f"the same gradients must give the same parameters, found {first} and {second}."
    )


def _check_restart(optimizer: Optimizer, gradients: Array, devices: Ints) -> None:
    """Check that a run goes on unchanged after it is stored and read back in its middle."""
    through = _run(optimizer, gradients, devices)
    for stop in (0, 1, N_STEPS // 2):
        w = np.zeros(SIZE)
        state, w = _steps(optimizer, optimizer.init(w), w, gradients[:stop], devices[:stop])
        _check_state(state)
        stored = io.BytesIO()
        arrays: dict[str, Any] = {f"state.{name}": value for name, value in state.items()}
        np.savez(stored, w=w, **arrays)
        stored.seek(0)
        with np.load(stored, allow_pickle=False) as file:
            state = read_state({name: file[f"state.{name}"] for name in state})
            w = file["w"]
        state, w = _steps(optimizer, state, w, gradients[stop:], devices[stop:])
        found = np.concatenate([w, optimizer.model(state, w)])
        assert np.array_equal(found, through), (
            f"a restart after {stop} steps must change nothing, found {found} for {through}."
        )


def _check_purity(optimizer: Optimizer, gradients: Array, devices: Ints) -> None:
    """Check that a step changes neither its arguments nor an earlier step's result."""
    w = np.zeros(SIZE)
    state = optimizer.init(w)
    for g, device in zip(gradients, devices, strict=True):
        published = optimizer.model(state, w)
        given = _copied(state, w, g, published)
        (first, new), (second, again) = (
            optimizer.update(state, w, g, int(device)) for _ in range(2)
        )
        names = *(f"state {name}" for name in state), "w", "g", "a published model"
        for name, old, now in zip(names, given, _copied(state, w, g, published), strict=True):
            assert np.array_equal(old, now), f"update must not change {name}, found {now}."
        for one, other in zip(_copied(first, new), _copied(second, again), strict=True):
            assert np.array_equal(one, other), (
                f"two steps from the same state must agree, found {one} and {other}."
            )
        state, w = first, new


def _copied(state: OptimizerState, *arrays: Array) -> list[Array]:
    return [np.array(value) for value in (*state.values(), *arrays)]


def _check_projection(optimizer: Optimizer, gradients: Array, devices: Ints, radius: float) -> None:
    for scale in (1.0, 1e3, 1e6):
        w = np.zeros(SIZE)
        state = optimizer.init(w)
        for g, device in zip(scale * gradients, devices, strict=True):
            state, w = optimizer.update(state, w, g, int(device))
            for what, found in (("iterate", w), ("model", optimizer.model(state, w))):
                assert found.shape == (SIZE,), f"a {what} must keep its shape, found {found.shape}."
                norm = float(np.linalg.norm(found))
                assert norm <= radius * (1 + 1e-9), (
                    f"a {what} must stay within the radius {radius}, found a norm of {norm}."
                )


def _check_zero_gradients(optimizer: Optimizer) -> None:
    w = np.full(SIZE, 1e-3)
    state, found = _steps(
        optimizer, optimizer.init(w), w, np.zeros((5, SIZE)), np.zeros(5, dtype=np.int64)
    )
    model = optimizer.model(state, found)
    for now in (found, model):
        assert np.allclose(now, w), f"zero gradients must move nothing, found {now} from {w}."


def _check_downhill(optimizer: Optimizer, radius: float, rng: np.random.Generator) -> None:
    """Check that ½‖w − w*‖² falls by at least three quarters after 400 exact gradients."""
    goal = rng.normal(size=SIZE)
    goal *= min(1.0, radius) / 2 / np.linalg.norm(goal)
    w = np.zeros(SIZE)
    state = optimizer.init(w)
    for t in range(400):
        state, w = optimizer.update(state, w, w - goal, t % 3)
    left = float(np.sum((optimizer.model(state, w) - goal) ** 2) / np.sum(goal**2))
    assert left < 0.25, f"400 steps must leave less than 0.25 of a quadratic, found {left}."


def _steps(
    optimizer: Optimizer, state: OptimizerState, w: Array, gradients: Array, devices: Ints
) -> tuple[OptimizerState, Array]:
    for g, device in zip(gradients, devices, strict=True):
        state, w = optimizer.update(state, w, g, int(device))
    return state, w


def _run(optimizer: Optimizer, gradients: Array, devices: Ints) -> Array:
    w = np.zeros(SIZE)
    state, w = _steps(optimizer, optimizer.init(w), w, gradients, devices)
    return np.concatenate([w, optimizer.model(state, w)])

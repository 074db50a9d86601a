"""Check every model: shapes, gradients, bounds, and that it leaves its inputs unchanged."""

import math
from collections.abc import Callable

import numpy as np

from crowdml.models import Model, clipped_mean
from crowdml.types import Array, Flags

STEP = 1e-5
"""The step of finite differences: the error of the central quotient is then near 1e-10."""

KINK = 1e-4
"""Quotients from the left and right that differ by more belong to a kink, not to curvature."""

ROUNDING = 1e-9
"""Relative room for 64-bit floats; a proven bound is never missed by more."""


def check_model(model: Model, rng: np.random.Generator) -> None:
    """Raise `AssertionError` unless the model keeps every promise of `Model`.

    The bounds on ‖∇l‖, in L1 and in L2, are searched for violations with huge parameters, at the
    vertices and on the surface of the ball ‖x‖ ≤ 1, for all labels, and by climbing. A model
    whose bound is `inf` has none to violate, but its `mean_gradient` must respect any clip all the
    same.

    Args:
        model: Any implementation of `crowdml.models.Model`.
        rng: The generator of the trial inputs; nothing else here is random.

    >>> from crowdml.models import Softmax
    >>> check_model(Softmax(n_features=3, n_classes=2), np.random.default_rng(1))
    """
    _check_shapes(model, rng)
    _check_purity(model, rng)
    _check_gradients(model, rng)
    for norm in (1, 2):
        _check_bound(model, rng, norm)
        _check_mean_gradient(model, rng, norm)
    _check_mistakes(model, rng)


def _check_shapes(model: Model, rng: np.random.Generator) -> None:
    x, y = _samples(model, rng, 7)
    w = rng.normal(size=model.size)
    losses = model.losses(w, x, y)
    expected: dict[str, tuple[Array | Flags, tuple[int, ...]]] = {
        "predict": (model.predict(w, x), (7,)),
        "losses": (losses, (7,)),
        "gradients": (model.gradients(w, x, y), (7, model.size)),
        "mean_gradient": (model.mean_gradient(w, x, y, 1.0, 2), (model.size,)),
        "mistakes": (model.mistakes(w, x, y), (7,)),
    }
    for name, (found, shape) in expected.items():
        assert found.shape == shape, f"{name} must have shape {shape}, found {found.shape}."
        assert np.isfinite(found).all(), f"{name} must be finite, found {found}."
    flags = expected["mistakes"][0]
    assert flags.dtype == np.bool_, f"mistakes must be truth values, found {flags.dtype}."
    assert (losses >= 0).all(), f"losses must not be negative, found {losses.min()}."


def _check_purity(model: Model, rng: np.random.Generator) -> None:
    x, y = _samples(model, rng, 9)
    w = rng.normal(size=model.size)
    before = w.copy(), x.copy(), y.copy()
    calls: dict[str, Callable[[], Array | Flags]] = {
        "predict": lambda: model.predict(w, x),
        "losses": lambda: model.losses(w, x, y),
        "gradients": lambda: model.gradients(w, x, y),
        "mean_gradient": lambda: model.mean_gradient(w, x, y, 0.5, 2),
        "mistakes": lambda: model.mistakes(w, x, y),
    }
    for name, call in calls.items():
        first = np.array(call())
        for argument, now, then in zip("wxy", (w, x, y), before, strict=True):
            assert np.array_equal(now, then), f"{name} must not change {argument}."
        assert np.array_equal(first, call()), f"{name} must give the same result every time."


def _check_gradients(model: Model, rng: np.random.Generator) -> None:
    """Compare gradients with difference quotients of the loss, where the loss has no corner."""
    smooth = total = 0
    for _ in range(5):
        x, y = _samples(model, rng, 6)
        w = 2.0 * rng.normal(size=model.size)
        gradients = model.gradients(w, x, y)
        here = model.losses(w, x, y)
        for j in range(model.size):
            shift = np.zeros(model.size)
            shift[j] = STEP
            right = (model.losses(w + shift, x, y) - here) / STEP
            left = (here - model.losses(w - shift, x, y)) / STEP
            flat = np.abs(right - left) < KINK
            wrong = np.abs((left + right) / 2 - gradients[:, j]) * flat
            assert wrong.max() < KINK, (
                f"gradients must be the slope of losses, found {gradients[wrong.argmax(), j]} "
                f"where the slope for parameter {j} is {((left + right) / 2)[wrong.argmax()]}."
            )
            smooth, total = smooth + int(flat.sum()), total + len(flat)
    assert 2 * smooth > total, f"losses must be smooth nearly everywhere, found {smooth}/{total}."


def _check_bound(model: Model, rng: np.random.Generator, norm: int) -> None:
    bound = model.bound(norm)
    assert bound > 0, f"bound({norm}) must be positive, found {bound}."
    if math.isinf(bound):
        return
    for scale in (0.0, 1.0, 1e3, 1e12):
        for _ in range(10):
            x, y = _hard_samples(model, rng, scale, norm)
            _require_bound(model, scale * rng.normal(size=model.size), x, y, norm)
    x, y = _hard_samples(model, rng, 1.0, norm)
    w = rng.normal(size=model.size)
    best = _require_bound(model, w, x, y, norm)
    for _ in range(200):
        trial = w + rng.choice([0.01, 0.3, 3.0]) * rng.normal(size=model.size)
        found = _require_bound(model, trial, x, y, norm)
        if found >= best:
            best, w = found, trial


def _require_bound(model: Model, w: Array, x: Array, y: Array, norm: int) -> float:
    lengths = np.linalg.norm(model.gradients(w, x, y), norm, axis=1)
    worst = int(np.argmax(lengths))
    assert lengths[worst] <= model.bound(norm) * (1 + ROUNDING), (
        f"a gradient must have an L{norm} norm of at most bound({norm}) = {model.bound(norm)}, "
        f"found {lengths[worst]} for x = {x[worst]}, y = {y[worst]}."
    )
    return float(lengths[worst])


def _check_mean_gradient(model: Model, rng: np.random.Generator, norm: int) -> None:
    bound = model.bound(norm) if math.isfinite(model.bound(norm)) else 1.0
    for clip in (bound, 0.7 * bound, 0.01 * bound, math.inf):
        for scale in (0.0, 1.0, 1e6):
            x, y = _hard_samples(model, rng, scale, norm)
            w = scale * rng.normal(size=model.size)
            for rows in (slice(None), slice(0, 1), slice(1, 2)):
                found = model.mean_gradient(w, x[rows], y[rows], clip, norm)
                gradients = model.gradients(w, x[rows], y[rows])
                expected = clipped_mean(gradients, clip, norm)
                room = ROUNDING * min(clip, np.abs(gradients).max())
                assert np.allclose(found, expected, rtol=ROUNDING, atol=room), (
                    f"mean_gradient must be the mean of gradients shrunk to {clip} in L{norm}, "
                    f"found {found} for {expected}."
                )
                length = np.linalg.norm(found, norm)
                assert length <= clip, (
                    f"mean_gradient must have an L{norm} norm of at most clip = {clip}, found "
                    f"{length}."
                )


def _check_mistakes(model: Model, rng: np.random.Generator) -> None:
    x, y = _samples(model, rng, 60)
    w = 3.0 * rng.normal(size=model.size)
    predictions, mistakes = model.predict(w, x), model.mistakes(w, x, y)
    if model.n_classes:
        labels = set(range(model.n_classes))
        assert set(predictions.tolist()) <= labels, (
            f"predict must give labels 0 … {model.n_classes - 1}, found {predictions}."
        )
        assert np.array_equal(mistakes, predictions != y), (
            f"mistakes must be where predict differs from y, found {mistakes}."
        )
        return
    # A regression decides by the residual alone: above some size every residual is a mistake.
    ordered = mistakes[np.argsort(np.abs(predictions - y), kind="stable")]
    assert np.array_equal(ordered, np.sort(ordered)), (
        f"mistakes must grow with the residual |predict − y|, found {ordered} in that order."
    )
    exact = model.mistakes(w, x, predictions)
    assert not exact.any(), f"an exact prediction must not be a mistake, found {exact}."


def _samples(model: Model, rng: np.random.Generator, n: int) -> tuple[Array, Array]:
    """Draw ordinary samples: ‖x‖₁ ≤ 1, labels or small targets."""
    x = rng.normal(size=(n, model.n_features))
    x *= rng.uniform(0.1, 1.0, size=(n, 1)) / np.abs(x).sum(axis=1, keepdims=True)
    return x, _targets(model, rng, n, 1.0)


def _hard_samples(
    model: Model, rng: np.random.Generator, scale: float, norm: int
) -> tuple[Array, Array]:
    """Make samples on the axes, at the centre and on the surface of the ball, with all labels."""
    d = model.n_features
    shares = rng.dirichlet(np.full(d, 0.3), size=8)
    surface = shares ** (1 / norm) * rng.choice([-1.0, 1.0], size=(8, d))
    x = np.vstack([np.zeros((1, d)), np.eye(d), -np.eye(d), surface])
    repeats = max(model.n_classes, 1)
    y = _targets(model, rng, len(x) * repeats, scale)
    return np.repeat(x, repeats, axis=0), y


def _targets(model: Model, rng: np.random.Generator, n: int, scale: float) -> Array:
    if model.n_classes:
        return (np.arange(n) % model.n_classes).astype(float)
    return scale * rng.normal(size=n)

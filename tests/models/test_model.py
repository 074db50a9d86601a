"""Test that every model passes the conformance suite, and that the suite finds planted faults."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from crowdml.checks import check_model
from crowdml.models import Hinge, Huber, LinearModel, Ridge, Softmax
from crowdml.types import Array, Flags

MODELS: list[LinearModel] = [
    Softmax(n_features=4, n_classes=3),
    Softmax(n_features=1, n_classes=2),
    Softmax(n_features=3, n_classes=6),
    Hinge(n_features=4, n_classes=3),
    Hinge(n_features=1, n_classes=2),
    Ridge(n_features=4, tolerance=0.4),
    Huber(n_features=4, tolerance=0.4, delta=0.3),
    Huber(n_features=1, tolerance=2.0, delta=1.7),
]
BOUNDED = [model for model in MODELS if np.isfinite(model.bound(1))]


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("model", MODELS, ids=str)
def test_conforms(model: LinearModel, intercept: bool) -> None:
    check_model(replace(model, intercept=intercept), np.random.default_rng(11))


@pytest.mark.parametrize("norm", [1, 2])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("model", BOUNDED, ids=str)
def test_bound_is_attained(model: LinearModel, intercept: bool, norm: int) -> None:
    """Check that gradients reach the bound.

    A bound far above every gradient would make each device add too much noise.
    """
    model = replace(model, intercept=intercept)
    rng = np.random.default_rng(5)
    x = np.eye(model.n_features)
    longest = 0.0
    for _ in range(200):
        w = 1e3 * rng.normal(size=model.size)
        for label in range(max(model.n_classes, 1)):
            y = np.full(len(x), float(label))
            lengths = np.linalg.norm(model.gradients(w, x, y), norm, axis=1)
            longest = max(longest, float(lengths.max()))
    assert longest > 0.999 * model.bound(norm)


@dataclass(frozen=True)
class HalfBound(Softmax):
    def slope_bound(self, norm: int) -> float:
        return super().slope_bound(norm) / (1 if norm == 2 else 2)


@dataclass(frozen=True)
class NoLabels(Softmax):
    """Bound the slopes as in regression, which has one slope, although there are two."""

    def slope_bound(self, norm: int) -> float:
        return super().slope_bound(norm) if norm == 1 else 1.0


@dataclass(frozen=True)
class ForgottenIntercept(Softmax):
    """Forget that the constant feature adds to ‖x‖ ≤ 1, so the bounds must grow."""

    def bound(self, norm: int) -> float:
        return self.slope_bound(norm)


@dataclass(frozen=True)
class OneNorm(Ridge):
    """Clip in L1, even if another norm is requested."""

    def mean_gradient(self, w: Array, x: Array, y: Array, clip: float, norm: int = 1) -> Array:
        return super().mean_gradient(w, x, y, clip, 1)


@dataclass(frozen=True)
class WrongSign(Softmax):
    def slopes(self, s: Array, y: Array) -> Array:
        return -super().slopes(s, y)


@dataclass(frozen=True)
class NoSubtraction(Softmax):
    """Return P alone, without subtracting I[y = k]."""

    def slopes(self, s: Array, y: Array) -> Array:
        p = super().slopes(s, y)
        p[np.arange(len(s)), y.astype(int)] += 1.0
        return p


@dataclass(frozen=True)
class ClipForgotten(Ridge):
    def mean_gradient(self, w: Array, x: Array, y: Array, clip: float, norm: int = 1) -> Array:
        return super().mean_gradient(w, x, y, np.inf, norm)


@dataclass(frozen=True)
class ClipAfterwards(Ridge):
    """Shrink the average instead of each gradient, so that one sample can move all the others."""

    def mean_gradient(self, w: Array, x: Array, y: Array, clip: float, norm: int = 1) -> Array:
        g = super().mean_gradient(w, x, y, np.inf, norm)
        length = float(np.linalg.norm(g, norm))
        return g * min(1.0, clip * (1 - 2.0**-30) / max(length, 1e-300))


@dataclass(frozen=True)
class Sum(Softmax):
    def mean_gradient(self, w: Array, x: Array, y: Array, clip: float, norm: int = 1) -> Array:
        return super().mean_gradient(w, x, y, clip, norm) * len(x)


@dataclass(frozen=True)
class Vandal(Softmax):
    def predict(self, w: Array, x: Array) -> Array:
        x *= 2.0
        return super().predict(w, x)


@dataclass(frozen=True)
class Forgetful(Softmax):
    """Count correct predictions as mistakes."""

    def mistakes(self, w: Array, x: Array, y: Array) -> Flags:
        return ~super().mistakes(w, x, y)


@dataclass(frozen=True)
class Signed(Ridge):
    """Count only overestimates as mistakes."""

    def mistakes(self, w: Array, x: Array, y: Array) -> Flags:
        return self.predict(w, x) - y > self.tolerance


@dataclass(frozen=True)
class OneLoss(Softmax):
    def losses(self, w: Array, x: Array, y: Array) -> Array:
        return super().losses(w, x, y)[:1]


@pytest.mark.parametrize(
    ("model", "complaint"),
    [
        (HalfBound(4, 3), r"at most bound\(1\) = 1.0, found"),
        (NoLabels(4, 3), r"at most bound\(2\) = 1.0, found"),
        (ForgottenIntercept(4, 3, intercept=True), r"at most bound\(1\) = 2.0, found"),
        (OneNorm(4), "mean of gradients shrunk to .* in L2"),
        (WrongSign(4, 3), "slope of losses"),
        (NoSubtraction(4, 3), "slope of losses"),
        (ClipForgotten(4), "mean of gradients shrunk"),
        (ClipAfterwards(4), "mean of gradients shrunk"),
        (Sum(4, 3), "mean of gradients shrunk"),
        (Vandal(4, 3), "predict must not change x"),
        (Forgetful(4, 3), "where predict differs"),
        (Signed(4, tolerance=0.4), "grow with the residual"),
        (OneLoss(4, 3), r"losses must have shape \(7,\), found \(1,\)"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_finds_planted_fault(model: LinearModel, complaint: str) -> None:
    with pytest.raises(AssertionError, match=complaint):
        check_model(model, np.random.default_rng(11))

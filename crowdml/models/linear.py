"""Define linear models: scores s = W x, then a loss of the scores."""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from crowdml.errors import InvalidInput
from crowdml.models.clipping import clip_factors
from crowdml.types import Array, Flags


@dataclass(frozen=True)
class LinearModel(ABC):
    """Define a model whose loss sees x only through K scores, s_k = w_k'x (+ b_k).

    By the chain rule the gradient of one sample is the outer product of the slopes ∂l/∂s and
    the features, so ‖g‖ = ‖∂l/∂s‖·‖x‖ in L1 and in L2. Bounds and clipping need only these two
    factors.

    Parameters are laid out row-major K×D, then the K intercepts where the model has them.

    Args:
        n_features: D.
        n_classes: C; 0 for a real target.
        intercept: Whether each score has an intercept. An intercept adds the constant feature 1
            to ‖x‖ ≤ 1, which multiplies the L1 bound by 2 and the L2 bound by √2.
    """

    n_features: int
    n_classes: int = 0
    intercept: bool = False

    def __post_init__(self) -> None:
        if self.n_features < 1:
            raise InvalidInput(f"n_features must be at least 1, found {self.n_features}.")

    @property
    def n_scores(self) -> int:
        return max(self.n_classes, 1)

    @property
    def size(self) -> int:
        return self.n_scores * (self.n_features + self.intercept)

    @abstractmethod
    def slope_bound(self, norm: int) -> float:
        """Return the largest possible ‖∂l/∂s‖ in this norm, 1 or 2."""

    def bound(self, norm: int) -> float:
        return float(self.slope_bound(norm) * (1 + self.intercept) ** (1 / norm))

    @abstractmethod
    def predict_scores(self, s: Array) -> Array: ...

    @abstractmethod
    def loss_scores(self, s: Array, y: Array) -> Array: ...

    @abstractmethod
    def slopes(self, s: Array, y: Array) -> Array:
        """Compute ∂l/∂s: one row of K numbers per sample."""

    @abstractmethod
    def mistakes(self, w: Array, x: Array, y: Array) -> Flags: ...

    def scores(self, w: Array, x: Array) -> Array:
        k, d = self.n_scores, self.n_features
        s: Array = x @ w[: k * d].reshape(k, d).T
        return s + w[k * d :] if self.intercept else s

    def predict(self, w: Array, x: Array) -> Array:
        return self.predict_scores(self.scores(w, x))

    def losses(self, w: Array, x: Array, y: Array) -> Array:
        return self.loss_scores(self.scores(w, x), y)

    def gradients(self, w: Array, x: Array, y: Array) -> Array:
        m = self.slopes(self.scores(w, x), y)
        outer = (m[:, :, None] * x[:, None, :]).reshape(len(x), -1)
        return np.hstack([outer, m]) if self.intercept else outer

    def mean_gradient(self, w: Array, x: Array, y: Array, clip: float, norm: int = 1) -> Array:
        m = self.slopes(self.scores(w, x), y)
        if not np.isinf(clip):
            features = (np.abs(x) ** norm).sum(axis=1) + self.intercept
            norms = np.linalg.norm(m, norm, axis=1) * features ** (1 / norm)
            m = m * clip_factors(norms, clip)[:, None]
        flat: Array = (m.T @ x).ravel()
        if self.intercept:
            flat = np.concatenate([flat, m.sum(axis=0)])
        return flat / len(x)

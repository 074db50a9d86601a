"""Predict labels by the multiclass linear support vector machine of Crammer and Singer."""

from dataclasses import dataclass

import numpy as np

from crowdml.models.classifier import LinearClassifier
from crowdml.types import Array


@dataclass(frozen=True)
class Hinge(LinearClassifier):
    """Predict argmax_k w_k'x; the loss is max(0, 1 + max_{k≠y} w_k'x − w_y'x).

    A subgradient is +x for the strongest rival and −x for the true class while the margin is
    violated, and 0 otherwise. The slopes are 1 and −1, or all 0, hence ‖g‖₁ ≤ 2 for
    ‖x‖₁ ≤ 1, and ‖g‖₂ ≤ √2 for ‖x‖₂ ≤ 1.

    Reference: K. Crammer and Y. Singer, JMLR 2 (2001).

    >>> model = Hinge(n_features=2, n_classes=3)
    >>> w = np.array([0.0, 0.0, 2.0, 0.0, 1.0, 0.0])
    >>> x, y = np.array([[1.0, 0.0]]), np.array([2])
    >>> model.losses(w, x, y)                   # 1 + 2 − 1
    array([2.])
    >>> model.gradients(w, x, y)
    array([[ 0.,  0.,  1.,  0., -1., -0.]])
    """

    def slope_bound(self, norm: int) -> float:
        return float(2.0 ** (1 / norm))

    def loss_scores(self, s: Array, y: Array) -> Array:
        _, margin = self._rival(s, y)
        return np.maximum(0.0, 1.0 - margin)

    def slopes(self, s: Array, y: Array) -> Array:
        rival, margin = self._rival(s, y)
        violated = (margin < 1.0).astype(float)
        rows, m = np.arange(len(s)), np.zeros_like(s)
        m[rows, rival] = violated
        m[rows, y.astype(int)] = -violated
        return m

    @staticmethod
    def _rival(s: Array, y: Array) -> tuple[np.ndarray, Array]:
        """Return the best wrong class and w_y'x − w_rival'x."""
        rows, true = np.arange(len(s)), y.astype(int)
        others = s.copy()
        others[rows, true] = -np.inf
        rival = np.argmax(others, axis=1)
        return rival, s[rows, true] - s[rows, rival]

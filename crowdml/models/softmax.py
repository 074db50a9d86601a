"""Predict labels by multiclass logistic regression, the paper's Table I."""

from dataclasses import dataclass

import numpy as np

from crowdml.models.classifier import LinearClassifier
from crowdml.types import Array

SMALLEST_EXPONENT = -60.0
"""Exponents are cut here: e⁻⁶⁰ adds nothing to 1. Without the cut, slopes and their products could
be so close to 0 that processors take longer for them, and the time would reveal such samples."""


@dataclass(frozen=True)
class Softmax(LinearClassifier):
    """Predict argmax_k w_k'x; the loss is −w_y'x + log Σ_l exp(w_l'x).

    The gradient for w_k is x·(P(y=k|x) − I[y=k]). The slopes P − e_y have L1 norm
    2(1 − P_y) ≤ 2, hence ‖g‖₁ ≤ 2 for ‖x‖₁ ≤ 1; their squares add up to at most 2(1 − P_y)² ≤ 2,
    hence ‖g‖₂ ≤ √2 for ‖x‖₂ ≤ 1.

    Paper: Table I; the bound is the proof of Theorem 1.

    >>> model = Softmax(n_features=2, n_classes=3)
    >>> model.size, model.bound(1)
    (6, 2.0)
    >>> w = np.zeros(6)
    >>> x, y = np.array([[0.5, -0.5]]), np.array([1])
    >>> model.losses(w, x, y).round(4)          # log 3
    array([1.0986])
    >>> model.gradients(w, x, y).reshape(3, 2).round(3)
    array([[ 0.167, -0.167],
           [-0.333,  0.333],
           [ 0.167, -0.167]])
    """

    def slope_bound(self, norm: int) -> float:
        return float(2.0 ** (1 / norm))

    @staticmethod
    def probabilities(s: Array) -> Array:
        """Compute P(y=k|x): one row of C numbers per sample."""
        e = np.exp(np.maximum(s - s.max(axis=1, keepdims=True), SMALLEST_EXPONENT))
        p: Array = e / e.sum(axis=1, keepdims=True)
        return p

    def loss_scores(self, s: Array, y: Array) -> Array:
        top = s.max(axis=1)
        log_sum = top + np.log(np.exp(s - top[:, None]).sum(axis=1))
        loss: Array = log_sum - s[np.arange(len(s)), y.astype(int)]
        return loss

    def slopes(self, s: Array, y: Array) -> Array:
        p = self.probabilities(s)
        p[np.arange(len(s)), y.astype(int)] -= 1.0
        return p

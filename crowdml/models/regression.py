"""Predict a real target by linear regression, with squared loss (ridge) or Huber loss."""

from dataclasses import dataclass

import numpy as np

from crowdml.errors import InvalidInput
from crowdml.models.linear import LinearModel
from crowdml.types import Array, Flags


@dataclass(frozen=True)
class Ridge(LinearModel):
    """Predict w'x; the loss is ½(w'x − y)².

    The gradient (w'x − y)·x grows with the residual and has no finite bound, so a task must
    name a clip S for each sample. (The ridge penalty λ/2·‖w‖² is the task's regularization.)

    Args:
        tolerance: A sample counts as an error when |w'x − y| is larger than this.

    >>> model = Ridge(n_features=2, tolerance=0.5)
    >>> w, x, y = np.array([1.0, 0.0]), np.array([[0.5, 0.5]]), np.array([2.0])
    >>> model.losses(w, x, y), model.gradients(w, x, y), model.mistakes(w, x, y)
    (array([1.125]), array([[-0.75, -0.75]]), array([ True]))
    """

    tolerance: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.n_classes:
            raise InvalidInput(f"regression has no classes, found n_classes = {self.n_classes}.")
        if not self.tolerance > 0:
            raise InvalidInput(f"tolerance must be positive, found {self.tolerance}.")

    def slope_bound(self, norm: int) -> float:
        return np.inf

    def predict_scores(self, s: Array) -> Array:
        return s[:, 0]

    def loss_scores(self, s: Array, y: Array) -> Array:
        loss: Array = 0.5 * (s[:, 0] - y) ** 2
        return loss

    def slopes(self, s: Array, y: Array) -> Array:
        return s - y[:, None]

    def mistakes(self, w: Array, x: Array, y: Array) -> Flags:
        return np.abs(self.predict(w, x) - y) > self.tolerance


@dataclass(frozen=True)
class Huber(Ridge):
    """Predict w'x; the loss is r²/2 for |r| ≤ δ, else δ(|r| − δ/2), with r = w'x − y.

    The slope is r cut to [−δ, δ], hence ‖g‖ ≤ δ for ‖x‖ ≤ 1.

    >>> Huber(n_features=2, delta=0.25).bound(1)
    0.25
    """

    delta: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.delta < np.inf:
            raise InvalidInput(f"delta must be positive and finite, found {self.delta}.")

    def slope_bound(self, norm: int) -> float:
        return self.delta

    def loss_scores(self, s: Array, y: Array) -> Array:
        r = np.abs(s[:, 0] - y)
        return np.where(r <= self.delta, 0.5 * r**2, self.delta * (r - 0.5 * self.delta))

    def slopes(self, s: Array, y: Array) -> Array:
        return np.clip(s - y[:, None], -self.delta, self.delta)

"""Define the interface of a model: a few pure functions of (w, x, y) and proven bounds."""

from typing import Protocol

from crowdml.types import Array, Flags


class Model(Protocol):
    """Predict, and compute the loss and the gradient of each sample, with a proven bound.

    `w` is always a flat vector of `size` numbers, `x` an n×D matrix of n samples and `y` a
    vector of n labels (0 … C−1) or real targets. A model does not know λ, noise or the network.
    """

    @property
    def n_features(self) -> int:
        """Return D, the length of a feature vector."""
        ...

    @property
    def n_classes(self) -> int:
        """Return C, or 0 where the target is a real number."""
        ...

    @property
    def size(self) -> int:
        """Return d, the number of parameters."""
        ...

    def bound(self, norm: int) -> float:
        """Return a proven bound on ‖∇l(x, y)‖ over all w, y and ‖x‖ ≤ 1, in this norm, 1 or 2.

        A model without a bound returns `inf`.
        """
        ...

    def predict(self, w: Array, x: Array) -> Array:
        """Compute h(x; w), one value per sample."""
        ...

    def losses(self, w: Array, x: Array, y: Array) -> Array:
        """Compute l(h(x; w), y), one value per sample."""
        ...

    def gradients(self, w: Array, x: Array, y: Array) -> Array:
        """Compute ∇_w l(h(x; w), y), one row of `size` numbers per sample."""
        ...

    def mean_gradient(self, w: Array, x: Array, y: Array, clip: float, norm: int = 1) -> Array:
        """Average the gradients of all samples, each shrunk to ‖g_i‖ ≤ clip first."""
        ...

    def mistakes(self, w: Array, x: Array, y: Array) -> Flags:
        """Return which samples count towards n_e."""
        ...

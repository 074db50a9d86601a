"""What a model is: a few pure functions of (w, x, y) and proven bounds."""

from typing import Protocol

from crowdml.types import Array, Flags


class Model(Protocol):
    """Prediction, loss, per-sample gradient and its bounds.

    `w` is always a flat vector of `size` numbers, `x` an n×D matrix of n samples and `y` a
    vector of n labels (0 … C−1) or real targets. Nothing here knows λ, noise or the network.
    """

    @property
    def n_features(self) -> int:
        """D, the length of a feature vector."""
        ...

    @property
    def n_classes(self) -> int:
        """C, or 0 where the target is a real number."""
        ...

    @property
    def size(self) -> int:
        """The number of parameters, d."""
        ...

    def bound(self, norm: int) -> float:
        """A proven bound on ‖∇l(x, y)‖ over all w, y and ‖x‖ ≤ 1, all in this norm, 1 or 2.

        `inf` where there is none.
        """
        ...

    def predict(self, w: Array, x: Array) -> Array:
        """h(x; w), one value per sample."""
        ...

    def losses(self, w: Array, x: Array, y: Array) -> Array:
        """l(h(x; w), y), one value per sample."""
        ...

    def gradients(self, w: Array, x: Array, y: Array) -> Array:
        """∇_w l(h(x; w), y), one row of `size` numbers per sample."""
        ...

    def mean_gradient(self, w: Array, x: Array, y: Array, clip: float, norm: int = 1) -> Array:
        """The average of the per-sample gradients, each first shrunk to ‖g_i‖ ≤ clip."""
        ...

    def mistakes(self, w: Array, x: Array, y: Array) -> Flags:
        """Which samples count towards n_e."""
        ...

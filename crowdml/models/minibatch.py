"""Evaluate a model on the samples of one minibatch."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from crowdml.models.model import Model
from crowdml.types import Array, Flags, Ints


@dataclass(frozen=True)
class Minibatch:
    """Predict, count and average, as far as a mechanism asks for it (Device Routine 2).

    A minibatch is secret: it never leaves the device.

    Args:
        w: The parameters that were checked out, where the gradient is taken.
        x: The samples' features, n×D.
        y: Their labels or targets.
        exported: The model that people use, where it differs from w: mistakes are its mistakes.

    Paper: Algorithm 1, Device Routine 2.

    >>> from crowdml.models.softmax import Softmax
    >>> x, y = np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([0.0, 1.0])
    >>> minibatch = Minibatch(Softmax(2, 2), np.zeros(4), x, y)
    >>> minibatch.mean_gradient(np.array([True, True]), clip=2.0, norm=1)
    array([-0.25,  0.25,  0.25, -0.25])
    >>> minibatch.mistakes(), minibatch.labels
    (array([False,  True]), array([0, 1]))
    """

    model: Model
    w: Array
    x: Array
    y: Array
    exported: Array | None = None

    @property
    def n_samples(self) -> int:
        return len(self.x)

    @cached_property
    def labels(self) -> Ints:
        return self.y.astype(np.int64) if self.model.n_classes else np.zeros(0, dtype=np.int64)

    def mistakes(self) -> Flags:
        tested = self.w if self.exported is None else self.exported
        return self.model.mistakes(tested, self.x, self.y)

    def mean_gradient(self, rows: Flags, clip: float, norm: int) -> Array:
        return self.model.mean_gradient(self.w, self.x[rows], self.y[rows], clip, norm)

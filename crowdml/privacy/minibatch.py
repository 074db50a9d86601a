"""Define what a mechanism may ask about the samples that it hides."""

from typing import Protocol

import numpy as np

from crowdml.privacy.chance import RandomIndex
from crowdml.types import Array, Flags, Ints


class MinibatchView(Protocol):
    """View samples with some parameters. A view is secret: it never leaves the device."""

    @property
    def n_samples(self) -> int: ...

    @property
    def w(self) -> Array:
        """Return the parameters that were checked out; they are public."""

    @property
    def labels(self) -> Ints:
        """Return the samples' labels; empty for a real target."""

    def mistakes(self) -> Flags:
        """Return which samples the exported model, which people use, predicts wrongly."""

    def mean_gradient(self, rows: Flags, clip: float, norm: int) -> Array:
        """Average the gradients of these samples, each shrunk to `clip` in this norm first."""


def choose_rows(n_samples: int, n_chosen: int, chance: RandomIndex) -> Flags:
    """Choose `n_chosen` of `n_samples` samples at random, all choices equally likely.

    Paper: Remark 2 of Section III-B.

    >>> from crowdml.privacy.chance import SystemChance
    >>> int(choose_rows(10, 3, SystemChance()).sum())
    3
    """
    order = np.arange(n_samples)
    for i in range(n_chosen):
        j = i + chance.below(n_samples - i)
        order[i], order[j] = order[j], order[i]
    chosen = np.zeros(n_samples, dtype=np.bool_)
    chosen[order[:n_chosen]] = True
    return chosen

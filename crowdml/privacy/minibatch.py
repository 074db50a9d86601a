"""What a mechanism may ask of the samples that it hides."""

from typing import Protocol

import numpy as np

from crowdml.privacy.chance import Below
from crowdml.types import Array, Flags, Ints


class MinibatchView(Protocol):
    """Samples and the parameters they are looked at with. Secret: it never leaves the device."""

    @property
    def n_samples(self) -> int: ...

    @property
    def w(self) -> Array:
        """The parameters that were checked out; they are public."""

    @property
    def labels(self) -> Ints:
        """The samples' labels; empty for a real target."""

    def mistakes(self) -> Flags:
        """Which samples the exported model predicts wrongly: people use that one, not w."""

    def mean_gradient(self, rows: Flags, clip: float, norm: int) -> Array:
        """The average over these samples, each gradient first shrunk to `clip` in this norm."""


def choose(n_samples: int, n_chosen: int, chance: Below) -> Flags:
    """So many of the samples, all choices equally likely.

    Paper: Remark 2 of Section III-B.

    >>> from crowdml.privacy.chance import SystemChance
    >>> int(choose(10, 3, SystemChance()).sum())
    3
    """
    order = np.arange(n_samples)
    for i in range(n_chosen):
        j = i + chance.below(n_samples - i)
        order[i], order[j] = order[j], order[i]
    chosen = np.zeros(n_samples, dtype=np.bool_)
    chosen[order[:n_chosen]] = True
    return chosen

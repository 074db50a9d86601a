"""How a crowd's samples divide over the labels: shares that are none below zero and add up to 1."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from crowdml.protocol import Statistics, Task
from crowdml.types import Array


class Share(NamedTuple):
    """Of one label: as it is shown, and as it was estimated."""

    label: str
    value: float
    estimate: float
    margin: float


def label_shares(task: Task, statistics: Statistics) -> list[Share]:
    estimates = statistics.labels
    if not estimates:
        return []
    shares = onto_simplex([estimate.value for estimate in estimates])
    rows = zip(task.terms.target.labels, shares.tolist(), estimates, strict=True)
    return [Share(label, value, e.value, e.margin) for label, value, e in rows]


def onto_simplex(values: Sequence[float]) -> Array:
    """The closest shares, which costs no privacy: it is computed from what was told.

    Reference: J. Duchi et al., ICML 2008.

    >>> onto_simplex([0.9, 0.5, -0.1]).round(3)
    array([0.7, 0.3, 0. ])
    """
    falling = np.sort(values)[::-1]
    excess = (np.cumsum(falling) - 1) / np.arange(1, len(falling) + 1)
    too_much = excess[np.flatnonzero(falling > excess)[-1]]
    shares: Array = np.maximum(np.asarray(values) - too_much, 0.0)
    return shares

"""Estimate how a crowd's samples divide over the labels: shares from 0 to 1 that add up to 1."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from crowdml.portal.words.language import say
from crowdml.protocol import Statistics, Task
from crowdml.types import Array

MOST_LABELS_SHOWN = 8
"""The most labels that each have a bar."""


class Share(NamedTuple):
    """Hold the share of one label: as it is shown, and as it was estimated."""

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


def top_shares(task: Task, statistics: Statistics) -> list[Share]:
    """Return the largest shares, and the others together, so that a picture has room."""
    shares = label_shares(task, statistics)
    if len(shares) <= MOST_LABELS_SHOWN + 1:
        return shares
    falling = sorted(shares, key=lambda share: -share.value)
    top, rest = falling[:MOST_LABELS_SHOWN], falling[MOST_LABELS_SHOWN:]
    # Shares that add up to 1 are negatively correlated, so the margin of the sum is an upper bound.
    margin = math.hypot(*(share.margin for share in rest))
    value = math.fsum(share.value for share in rest)
    estimate = math.fsum(share.estimate for share in rest)
    return [*top, Share(say("others ({n})", n=len(rest)), value, estimate, margin)]


def onto_simplex(values: Sequence[float]) -> Array:
    """Return the closest valid shares; this costs no privacy, because it uses only what was sent.

    Reference: J. Duchi et al., ICML 2008.

    >>> onto_simplex([0.9, 0.5, -0.1]).round(3)
    array([0.7, 0.3, 0. ])
    """
    falling = np.sort(values)[::-1]
    excess = (np.cumsum(falling) - 1) / np.arange(1, len(falling) + 1)
    too_much = excess[np.flatnonzero(falling > excess)[-1]]
    shares: Array = np.maximum(np.asarray(values) - too_much, 0.0)
    return shares

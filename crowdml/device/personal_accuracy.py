"""Describe how well the crowd's model works for this participant. Nobody else sees the result.

The device predicts each sample with the model that it has just checked out, before the sample is
used, and keeps two counts per check-in. They are in its file only, until it leaves.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from crowdml.models import Model
from crowdml.phrase import Phrase
from crowdml.types import Array

ENOUGH_SAMPLES = 20
"""The sentence covers the newest check-ins that have this many samples together."""

MOST_BARS = 30
BARS = "▁▂▃▄▅▆▇█"


class RightCount(NamedTuple):
    """Count the samples of one check-in that the crowd's model was right about."""

    right: int
    samples: int


def count_right(model: Model, w: Array, x: Array, y: Array) -> RightCount:
    """Predict samples with parameters that none of them has changed.

    Parameters that are all 0 have learnt nothing: no sample counts.

    >>> from crowdml.models import Softmax
    >>> x, y = np.eye(2), np.array([0.0, 0.0])
    >>> count_right(Softmax(2, 2), np.array([1.0, 0.0, 0.0, 1.0]), x, y)
    RightCount(right=1, samples=2)
    >>> count_right(Softmax(2, 2), np.zeros(4), x, y)
    RightCount(right=0, samples=0)
    """
    if not w.any():
        return RightCount(0, 0)
    return RightCount(len(x) - int(np.count_nonzero(model.mistakes(w, x, y))), len(x))


def newest_counts(tallies: Sequence[RightCount]) -> RightCount:
    """Add up the counts of the newest check-ins, until they have enough samples.

    >>> newest_counts([RightCount(0, 12), RightCount(7, 12), RightCount(10, 12)])
    RightCount(right=17, samples=24)
    """
    right = samples = 0
    for each in reversed(tallies):
        if samples >= ENOUGH_SAMPLES:
            break
        right, samples = right + each.right, samples + each.samples
    return RightCount(right, samples)


def shares_over_time(tallies: Sequence[RightCount]) -> list[float]:
    """Return the share of right predictions over time, check-in by check-in, in at most 30 parts.

    >>> shares_over_time([RightCount(1, 4), RightCount(0, 0), RightCount(3, 4)])
    [0.25, 0.75]
    """
    counted = [each for each in tallies if each.samples]
    parts = min(len(counted), MOST_BARS)
    shares = []
    for i in range(parts):
        part = counted[i * len(counted) // parts : (i + 1) * len(counted) // parts]
        shares.append(sum(each.right for each in part) / sum(each.samples for each in part))
    return shares


def draw_bars(shares: Sequence[float]) -> str:
    """Draw shares as a row of bars.

    >>> draw_bars([0.0, 0.5, 1.0])
    '▁▅█'
    """
    return "".join(BARS[min(int(share * len(BARS)), len(BARS) - 1)] for share in shares)


def describe_personal_accuracy(
    tallies: Sequence[RightCount], tolerance: float | None = None
) -> Phrase | None:
    """Describe how well the crowd's model works here; None for fewer than two samples.

    Args:
        tolerance: Of a task that predicts a number; None where it predicts a label.

    >>> print(describe_personal_accuracy([RightCount(17, 20)]))
    The crowd’s model guessed 17 of your last 20 samples right.
    """
    n, of = newest_counts(tallies)
    if of < 2:
        return None
    if tolerance is None:
        return Phrase("The crowd’s model guessed {n} of your last {of} samples right.", n=n, of=of)
    return Phrase(
        "The crowd’s model was within {off} of the number in {n} of your last {of} samples.",
        off=tolerance,
        n=n,
        of=of,
    )

"""Draw made-up samples of a stated difficulty, for a crowd whose data nobody has seen yet."""

import math

import numpy as np

from crowdml.errors import InvalidInput
from crowdml.simulation.datasets.dataset import Dataset
from crowdml.types import Array

DIFFICULTIES = {"easy": 0.02, "medium": 0.1, "hard": 0.25}
"""The error that is left with all data in one place; for numbers, the share of y that is random."""

TEST_SAMPLES = 4000


def synthetic(
    n_samples: int,
    n_features: int,
    labels: tuple[str, ...],
    difficulty: str,
    rng: np.random.Generator,
) -> Dataset:
    """Draw normal clouds around one centre for each label, or a line with noise for numbers.

    Centres are so far apart that guessing the nearest one is wrong as often as `difficulty` says.
    Features have ‖x‖₂ near 1/2, so that devices rescale hardly any row.
    """
    if difficulty not in DIFFICULTIES:
        raise InvalidInput(
            f"difficulty must be one of {', '.join(DIFFICULTIES)}, found {difficulty!r}."
        )
    share, n = DIFFICULTIES[difficulty], n_samples + TEST_SAMPLES
    cloud = rng.normal(size=(n, n_features))
    if labels:
        y = rng.integers(len(labels), size=n).astype(np.float64)
        centres = rng.normal(size=(len(labels), n_features))
        centres *= _distance(cloud, y, centres, share)
        x = cloud + centres[y.astype(int)]
    else:
        w = rng.normal(size=n_features) / math.sqrt(n_features)
        x, y = cloud, math.sqrt(1 - share) * cloud @ w + math.sqrt(share) * rng.normal(size=n)
    x /= 2 * float(np.linalg.norm(x, axis=1).mean())
    person = np.zeros(n_samples, np.int64)
    train, test = slice(n_samples), slice(n_samples, None)
    return Dataset(f"made-up ({difficulty})", labels, x[train], y[train], person, x[test], y[test])


def _distance(cloud: Array, y: Array, centres: Array, share: float) -> float:
    """Find by bisection how far to stretch the centres for this share of errors."""
    cloud, y = cloud[:TEST_SAMPLES], y[:TEST_SAMPLES].astype(int)
    low, high = 0.0, 100.0
    for _ in range(40):
        middle = (low + high) / 2
        x, means = cloud + middle * centres[y], middle * centres
        scores = x @ means.T - (means**2).sum(axis=1) / 2
        if (scores.argmax(axis=1) != y).mean() > share:
            low = middle
        else:
            high = middle
    return high

"""Choose the people of one trial, where each trial has other people."""

import numpy as np

from crowdml.errors import InvalidInput
from crowdml.simulation import Dataset
from crowdml.simulation.datasets import on_label_change
from crowdml.types import Ints


def collect_first(
    data: Dataset, n_people: int, first: int, shuffled: bool, rng: np.random.Generator
) -> Dataset:
    """Return the first samples that a few people's phones collect, the same number from each.

    A phone collects a sample when its label differs from the label before. Where each recording
    holds a single activity, labels hardly ever change. Shuffling a person's samples first makes
    them change as often as they do in a day.


    Paper: Section V-B.
    """
    rows = np.arange(len(data.y_train))
    if shuffled:
        rows = rng.permutation(rows)
    rows = rows[on_label_change(data.y_train[rows], data.person[rows])]
    each = -(-first // n_people)
    people, counts = np.unique(data.person[rows], return_counts=True)
    enough = people[counts >= each]
    if len(enough) < n_people:
        raise InvalidInput(
            f"{data.name} must have {n_people} people with {each} samples each, "
            f"found {len(enough)}."
        )
    chosen = rng.choice(enough, n_people, replace=False)
    hands = [rows[data.person[rows] == person][:each] for person in chosen]
    kept: Ints = np.stack(hands, axis=1).ravel()[:first]
    return data.take(kept)

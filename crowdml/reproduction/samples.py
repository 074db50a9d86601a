"""The data of one trial, where trials differ in more than chance inside the simulator."""

from dataclasses import replace

import numpy as np

from crowdml.errors import InvalidInput
from crowdml.simulation import Dataset
from crowdml.simulation.datasets import on_label_change
from crowdml.types import Ints

__all__ = ["collected", "within_unit_ball"]


def collected(
    data: Dataset, n_people: int, first: int, rng: np.random.Generator, shuffled: bool = False
) -> Dataset:
    """The first samples that a few people's phones collect, equally many from each.

    A phone collects a sample when its label differs from that of the one before. Where recordings
    hold a single activity each, labels hardly ever change; shuffling a person's samples first
    makes them change as often as they do in a day.

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
    return replace(
        data, x_train=data.x_train[kept], y_train=data.y_train[kept], person=data.person[kept]
    )


def within_unit_ball(data: Dataset) -> tuple[Dataset, float]:
    """Data whose features are too long scaled by 1/s so that ‖x‖₁ ≤ 1, and s.

    The simulator clips gradients at the bound for such x. On x/s, plain SGD at the rate c·s² takes
    the same steps as on x at the rate c, and nothing is clipped.
    """
    s = max(1.0, float(np.abs(data.x_train).sum(axis=1).max()))
    return replace(data, x_train=data.x_train / s, x_test=data.x_test / s), s

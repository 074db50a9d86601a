"""Draw the samples of a simulated crowd, from data that resemble theirs or from made-up data."""

from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass, field, replace
from threading import Lock

import numpy as np

from crowdml.errors import InvalidInput
from crowdml.protocol import Task
from crowdml.simulation.datasets import Dataset, synthetic

KEPT_DRAWS = 2
"""The number of draws that are kept: those of the trials that run now."""


@dataclass(frozen=True, eq=False)
class SampleDraws:
    """Draw samples once for each trial, so that all plans of the trial have the same samples.

    Args:
        task: The task whose features and labels the samples have.
        data: Samples that resemble the crowd's; None for made-up samples.
        difficulty: The difficulty of made-up samples.
        n_samples: The number of samples to draw.
    """

    task: Task
    data: Dataset | None
    difficulty: str
    n_samples: int
    _kept: OrderedDict[Hashable, Dataset] = field(default_factory=OrderedDict)
    _lock: Lock = field(default_factory=Lock)

    def __call__(self, rng: np.random.Generator) -> Dataset:
        key = str(rng.bit_generator.state)
        with self._lock:
            found = self._kept.get(key)
        if found is None:
            found = self._draw(rng)
            with self._lock:
                self._kept[key] = found
                if len(self._kept) > KEPT_DRAWS:
                    self._kept.popitem(last=False)
        return found

    def _draw(self, rng: np.random.Generator) -> Dataset:
        terms, data, n = self.task.terms, self.data, self.n_samples
        if data is None:
            made = synthetic(n, terms.features.count, terms.target.labels, self.difficulty, rng)
            scale = 1 if terms.n_classes else terms.target.scale
            return replace(made, y_train=scale * made.y_train, y_test=scale * made.y_test)
        if data.x_train.shape[1] != terms.features.count or len(data.labels) != terms.n_classes:
            raise InvalidInput(
                f"the data must have the task's {terms.features.count} features and "
                f"{terms.n_classes} labels, found {data.x_train.shape[1]} and {len(data.labels)}."
            )
        rows = rng.integers(len(data.y_train), size=n)
        return replace(data.take(rows), person=np.zeros(n, np.int64))

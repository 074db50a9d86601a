"""The rows of a pilot, as a task's devices would read them."""

from dataclasses import dataclass

import numpy as np

from crowdml.types import Array, Flags, Ints

__all__ = ["PilotSamples"]


@dataclass(frozen=True, eq=False)
class PilotSamples:
    """A pilot's rows in the order of a task's columns and labels.

    Args:
        x: n×D readings in their own units, NaN where one is missing.
        y: The number of each row's label, or the number to be predicted.
        people: Whose row each one is; None where that is not known.
    """

    x: Array
    y: Array
    people: Ints | None = None

    @property
    def n_people(self) -> int | None:
        """How many people there are; None where that is not known."""
        return None if self.people is None else len(np.unique(self.people))

    def take(self, rows: Flags | Ints) -> "PilotSamples":
        """Return some of the rows."""
        people = None if self.people is None else self.people[rows]
        return PilotSamples(self.x[rows], self.y[rows], people)

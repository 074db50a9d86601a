"""Where a simulated crowd starts."""

from dataclasses import dataclass

import numpy as np

from crowdml.errors import InvalidInput
from crowdml.protocol import StartReach
from crowdml.types import Array

__all__ = ["StartPoint"]


@dataclass(frozen=True, eq=False)
class StartPoint:
    """The parameters at version 0, and what is known of the pilot that they were fitted to.

    Starts are compared by identity, so that plans that share one run together.

    Args:
        w: In the model's order: K×D weights row by row, then the K intercepts if there are any.
        distance: d_boot; None where it is not known, which leaves the mechanism's reach.
        rows: The pilot's rows; needed with a distance.
        people: The pilot's people; None where they are not known.
    """

    w: Array
    distance: float | None = None
    rows: int | None = None
    people: int | None = None

    def __post_init__(self) -> None:
        if np.ndim(self.w) != 1 or not np.isfinite(self.w).all():
            raise InvalidInput(
                f"a start must be one row of finite numbers, found the shape {np.shape(self.w)}."
            )
        if self.distance is not None and not (self.distance >= 0 and (self.rows or 0) >= 1):
            raise InvalidInput(
                f"a start's distance must not be negative and needs the pilot's rows, found "
                f"{self.distance} with rows {self.rows}."
            )

    def reach(self, scale: float = 1.0) -> StartReach | None:
        """Return what decides D from here, for targets of this scale; None without a distance.

        >>> start = StartPoint(np.zeros(16), distance=3.0, rows=100, people=2)
        >>> start.reach().reach(ratio=0.5)
        2.0
        """
        if not self.distance or self.rows is None:
            return None
        return StartReach(self.distance, self.rows, self.people, len(self.w), scale)

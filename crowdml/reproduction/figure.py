"""What a figure shows: lines of errors over samples, ours and the paper's."""

from typing import NamedTuple

import msgspec
import numpy as np

from crowdml.reproduction.paper import Reading, readings_of
from crowdml.reproduction.plan import CurvePlan, FigurePlan
from crowdml.types import Array, Ints

__all__ = ["Figure", "Line", "Run", "make_line"]


class Run(NamedTuple):
    """Errors, trials × points, and how many check-ins there were, if any."""

    samples: Ints
    errors: Array
    checkins: float = 0.0


class Line(msgspec.Struct, frozen=True):
    """A curve: our mean and standard deviation over trials, and the paper's readings."""

    plan: CurvePlan
    samples: list[int]
    mean: list[float]
    std: list[float]
    paper: tuple[Reading, ...]
    samples_per_checkin: float = 0.0

    @property
    def ours(self) -> float:
        return self.mean[-1]

    @property
    def reading(self) -> float | None:
        return self.paper[-1].error if self.paper else None

    def at(self, samples: int) -> float:
        """Our error after so many samples, between two points by a straight line."""
        return float(np.interp(samples, self.samples, self.mean))


class Figure(msgspec.Struct, frozen=True):
    """A figure's lines, in the order of its plan."""

    name: str
    plan: FigurePlan
    lines: tuple[Line, ...]

    def __getitem__(self, key: str) -> Line:
        return next(line for line in self.lines if line.plan.key == key)


def make_line(figure: str, curve: CurvePlan, run: Run) -> Line:
    """A curve of the paper's figure of this name, from all its trials."""
    return Line(
        curve,
        run.samples.tolist(),
        run.errors.mean(axis=0).tolist(),
        run.errors.std(axis=0).tolist(),
        readings_of(figure, curve.key),
        float(run.samples[-1]) / run.checkins if run.checkins else 0.0,
    )

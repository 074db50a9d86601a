"""Compute the lines of a figure: errors over samples, ours and the paper's."""

from collections.abc import Callable
from functools import partial

import msgspec
import numpy as np

from crowdml.reproduction.figure_plan import CurvePlan, FigurePlan
from crowdml.reproduction.paper import PaperValue, paper_values_of
from crowdml.reproduction.samples import collect_first
from crowdml.simulation import Curve, Data, Dataset, simulate


class FigureLine(msgspec.Struct, frozen=True):
    """Hold a curve: our mean and standard deviation over trials, and the paper's values."""

    plan: CurvePlan
    samples: list[int]
    mean: list[float]
    std: list[float]
    paper: tuple[PaperValue, ...]

    @property
    def ours(self) -> float:
        return self.mean[-1]

    @property
    def paper_value(self) -> float | None:
        return self.paper[-1].error if self.paper else None

    def at(self, samples: int) -> float:
        """Interpolate our error after a number of samples, linearly between two points."""
        return float(np.interp(samples, self.samples, self.mean))


class Figure(msgspec.Struct, frozen=True):
    """Hold the lines of a figure, in the order of its plan."""

    name: str
    plan: FigurePlan
    lines: tuple[FigureLine, ...]

    def __getitem__(self, key: str) -> FigureLine:
        return next(line for line in self.lines if line.plan.key == key)


def run_figure(
    name: str,
    plan: FigurePlan,
    data: Dataset,
    trials: int,
    seed: int = 0,
    progress: Callable[[float], None] = lambda share: None,
) -> Figure:
    """Simulate all curves of a figure; a plan may ask for other people in each trial."""
    people: Data = data
    if plan.first is not None:
        people = partial(collect_first, data, plan.devices, plan.first, plan.shuffled)
    found = simulate(
        people,
        [plan.simulated(curve) for curve in plan.curves],
        trials=trials,
        seed=seed,
        points=plan.points,
        progress=lambda done, total: progress(done / total),
    )
    pairs = zip(plan.curves, found, strict=True)
    return Figure(name, plan, tuple(_line(name, plan, curve, ours) for curve, ours in pairs))


def _line(name: str, plan: FigurePlan, curve: CurvePlan, found: Curve) -> FigureLine:
    online = plan.measure == "online"
    first = 1 if online else 0  # there is no error to average before the first sample
    errors = (found.online_errors if online else found.errors)[:, first:]
    return FigureLine(
        curve,
        found.samples[first:].tolist(),
        errors.mean(axis=0).tolist(),
        errors.std(axis=0).tolist(),
        paper_values_of(plan.beside or name, curve.key),
    )

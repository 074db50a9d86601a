"""Running a figure's plan: every approach gives lines of errors over samples."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from crowdml.reproduction.figure import Figure, Run, make_line
from crowdml.reproduction.plan import CurvePlan, FigurePlan
from crowdml.reproduction.samples import collected, within_unit_ball
from crowdml.simulation import (
    Curve,
    Dataset,
    central_batch,
    decentralized,
    error_rate,
    perturb,
    simulate,
)

__all__ = ["run_figure"]

PERTURBATION = 99
"""Tells the seed of perturbed data from the simulator's own seeds."""

DECENTRAL_POINTS = 6
NO_RADIUS = 1e15

Progress = Callable[[float], None]


def run_figure(
    name: str,
    plan: FigurePlan,
    data: Dataset,
    trials: int,
    seed: int = 0,
    progress: Progress = lambda share: None,
) -> Figure:
    """All curves of a figure, curves of one approach together."""
    found: dict[str, Run] = {}
    approaches = list(dict.fromkeys(curve.approach for curve in plan.curves))
    for number, approach in enumerate(approaches):
        curves = [curve for curve in plan.curves if curve.approach == approach]

        def advance(share: float, number: int = number) -> None:
            progress((number + share) / len(approaches))

        run = _collected if plan.first is not None else RUNNERS[approach]
        results = run(plan, curves, data, trials, seed, advance)
        found |= {curve.key: result for curve, result in zip(curves, results, strict=True)}
    lines = tuple(make_line(plan.beside or name, curve, found[curve.key]) for curve in plan.curves)
    return Figure(name, plan, lines)


Runner = Callable[[FigurePlan, list[CurvePlan], Dataset, int, int, Progress], list[Run]]


def _crowd(
    plan: FigurePlan,
    curves: list[CurvePlan],
    data: Dataset,
    trials: int,
    seed: int,
    advance: Progress,
) -> list[Run]:
    runs = [(plan.crowd(curve), curve.learning()) for curve in curves]
    results = simulate(
        data, runs, trials, seed, plan.points, progress=lambda done, total: advance(done / total)
    )
    return [Run(result.samples, result.errors, result.checkins) for result in results]


def _collected(
    plan: FigurePlan,
    curves: list[CurvePlan],
    data: Dataset,
    trials: int,
    seed: int,
    advance: Progress,
) -> list[Run]:
    """Other people in each trial, as few as there are devices."""
    results: list[list[Curve]] = []
    for trial in range(trials):
        rng = np.random.default_rng([seed, trial, PERTURBATION])
        people = collected(data, plan.devices, plan.first or 0, rng, plan.shuffled)
        results.append(_run_scaled(plan, curves, people, seed + trial))
        advance((trial + 1) / trials)
    if plan.measure == "test":
        return _joined(results)
    # Before the first sample there is nothing to average.
    runs = _joined(results, online=True)
    return [Run(run.samples[1:], run.errors[:, 1:]) for run in runs]


def _central_sgd(
    plan: FigurePlan,
    curves: list[CurvePlan],
    data: Dataset,
    trials: int,
    seed: int,
    advance: Progress,
) -> list[Run]:
    """SGD in one place on data that are perturbed once, in each trial anew."""
    results: list[list[Curve]] = []
    for trial in range(trials):
        rng = np.random.default_rng([seed, trial, PERTURBATION])
        noisy = perturb(data, curves[0].epsilon, rng)
        results.append(_run_scaled(plan, curves, noisy, seed + trial))
        advance((trial + 1) / trials)
    return _joined(results)


def _central_batch(
    plan: FigurePlan,
    curves: list[CurvePlan],
    data: Dataset,
    trials: int,
    seed: int,
    advance: Progress,
) -> list[Run]:
    """The minimiser, drawn as a constant; the same in every trial if nothing is perturbed."""
    ends = np.array([0, len(data.y_train) * plan.passes])
    results = []
    for curve in curves:
        model = curve.learning().make_model(data.x_train.shape[1], len(data.labels))
        errors = []
        for trial in range(1 if math.isinf(curve.epsilon) else trials):
            rng = np.random.default_rng([seed, trial, PERTURBATION])
            noisy = perturb(data, curve.epsilon, rng)
            w = central_batch(model, noisy.x_train, noisy.y_train, curve.regularization)
            errors.append(error_rate(model, w, data.x_test, data.y_test))
            advance((trial + 1) / trials)
        results.append(Run(ends, np.repeat(np.array(errors)[:, None], 2, axis=1)))
    return results


def _decentral(
    plan: FigurePlan,
    curves: list[CurvePlan],
    data: Dataset,
    trials: int,
    seed: int,
    advance: Progress,
) -> list[Run]:
    results = []
    for curve in curves:
        lanes = []
        for trial in range(trials):
            crowd, way = plan.crowd(curve), curve.learning()
            lanes.append(decentralized(data, crowd, way, (seed, trial), DECENTRAL_POINTS))
            advance((trial + 1) / trials)
        results.append(Run(lanes[0].samples, np.array([lane.errors for lane in lanes])))
    return results


def _run_scaled(plan: FigurePlan, curves: list[CurvePlan], data: Dataset, seed: int) -> list[Curve]:
    """One trial without noise on features of any length."""
    short, s = within_unit_ball(data)
    ways = [replace(curve.learning(), c=curve.c * s**2, radius=NO_RADIUS) for curve in curves]
    runs = [(plan.crowd(curve), way) for curve, way in zip(curves, ways, strict=True)]
    return simulate(short, runs, seed=seed, points=plan.points)


def _joined(results: Sequence[Sequence[Curve]], online: bool = False) -> list[Run]:
    """Curves of single trials as one curve each of all trials."""
    return [
        Run(
            trials[0].samples,
            np.vstack([curve.online_errors if online else curve.errors for curve in trials]),
        )
        for trials in zip(*results, strict=True)
    ]


RUNNERS: dict[str, Runner] = {
    "crowd": _crowd,
    "central-batch": _central_batch,
    "central-sgd": _central_sgd,
    "decentral": _decentral,
}

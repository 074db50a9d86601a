"""Run many trials of many plans on the cores of this machine or of a cluster."""

import math
import os
from collections.abc import Callable, Hashable, Sequence
from itertools import pairwise

import joblib
import numpy as np

from crowdml.errors import InvalidInput
from crowdml.simulation.curve import Curve
from crowdml.simulation.datasets import Dataset
from crowdml.simulation.engine import run_jobs
from crowdml.simulation.plan import Plan
from crowdml.simulation.results import Results
from crowdml.simulation.trial import Data, run_trial


def simulate(
    data: Data,
    plans: Sequence[Plan],
    trials: int = 1,
    seed: int = 0,
    points: int = 30,
    engine: str | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
    first: int = 0,
) -> Results:
    """Return a curve for each plan. Plans with the same crowd share schedules.

    Args:
        data: What is learnt: a data set, or a function that draws one for each trial.
        plans: The curves wanted.
        trials: How often each plan is repeated, each time with other random numbers.
        seed: The same seed gives the same curves.
        points: The number of measurements, evenly over the clock; fewer for devices alone.
        engine: None for the cores of this machine; `ray` or `dask`, with `=ADDRESS` for an
            existing cluster.
        progress: Called with the number of jobs done and the total, for example a `ProgressBar`.
        first: The number of the first trial, for more trials of what was simulated before.

    >>> from crowdml.simulation import Crowd, Learning, load_digits
    >>> crowd, learning = Crowd(devices=50, batch=4), Learning()
    >>> plans = [Plan(crowd, learning), Plan(crowd, learning, "decentral")]
    >>> together, alone = simulate(load_digits(), plans)
    >>> together.final < 0.2 < alone.final
    True
    """
    if trials < 1:
        raise InvalidInput(f"trials must be at least 1, found {trials}.")
    groups: dict[Hashable, list[Plan]] = {}
    for plan in dict.fromkeys(plans):
        groups.setdefault(plan.shared, []).append(plan)
    workers = (os.cpu_count() or 1) if engine is None else len(plans) * trials
    parts = math.ceil(workers / max(1, len(groups) * trials))
    drawn = not isinstance(data, Dataset)
    jobs = [
        (trial, group[part], part.start)
        for trial in range(first, first + trials)
        for group in groups.values()
        if trial == first or drawn or not group[0].certain
        for part in _cut(len(group), parts)
    ]
    calls = (
        joblib.delayed(run_trial)(data, some, (seed, trial), points, number)
        for trial, some, number in jobs
    )
    found: dict[Plan, list[Curve]] = {plan: [] for plan in plans}
    results = run_jobs(calls, engine, data)
    progress(0, len(jobs))
    for done, ((_, some, _), curves) in enumerate(zip(jobs, results, strict=True), start=1):
        for plan, curve in zip(some, curves, strict=True):
            found[plan].append(curve)
        progress(done, len(jobs))
    return Results(tuple(plans), tuple(Curve.of(found[plan]) for plan in plans))


def _cut(n: int, parts: int) -> list[slice]:
    """Cut 0 … n into about equal parts, none of them empty."""
    ends = np.linspace(0, n, min(n, parts) + 1).astype(int).tolist()
    return [slice(*pair) for pair in pairwise(ends)]

"""One trial, by any of the approaches that the paper compares."""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from crowdml.simulation.arrivals import arrive
from crowdml.simulation.baselines import central_batch, decentralized, error_rate, perturb
from crowdml.simulation.curve import Curve
from crowdml.simulation.datasets import Dataset
from crowdml.simulation.fold import learn
from crowdml.simulation.plan import Plan
from crowdml.simulation.schedule import Schedule, make_schedule
from crowdml.simulation.settings import Crowd, Learning

__all__ = ["DATA_STREAM", "Data", "prepare", "run_trial"]

Data: TypeAlias = Dataset | Callable[[np.random.Generator], Dataset]
"""The same samples in every trial, or a function that draws those of one."""

DATA_STREAM = 2**32 - 1
"""The random stream that a trial's data are drawn from; 1, 2, … are those of its plans' noise."""


def run_trial(
    data: Data, plans: Sequence[Plan], seed: tuple[int, ...], points: int = 30, first: int = 0
) -> list[Curve]:
    """A curve of one trial for each plan; all plans have the same `shared`.

    The noise is that of the plans' numbers, which begin with `first`: a part of a longer list of
    plans gives the same as the whole list.
    """
    rng = np.random.default_rng([*seed, DATA_STREAM])
    if not isinstance(data, Dataset):
        data = data(rng)
    if plans[0].central:
        data = perturb(data, plans[0].learning.epsilon, rng)
    elif plans[0].approach == "crowd":
        schedule = prepare(data, plans[0].crowd, np.random.default_rng(seed))
    curves = []
    for number, plan in enumerate(plans, start=first):
        began = time.perf_counter()
        if plan.central:
            curve = _central(data, plan, seed, points)
        elif plan.approach == "decentral":
            curve = decentralized(data, plan.crowd, plan.learning, seed, points)
        else:
            noise = np.random.default_rng([*seed, 1 + number])
            curve = _crowd(data, schedule, plan, points, noise)
        curves.append(replace(curve, seconds=time.perf_counter() - began))
    return curves


def prepare(data: Dataset, crowd: Crowd, rng: np.random.Generator) -> Schedule:
    """Deal the samples and let the clock run."""
    device_of_sample = data.assign(crowd.devices, rng, crowd.skew, crowd.spread)
    arrivals = arrive(device_of_sample.astype(np.int32), crowd.passes, rng, crowd.presence)
    return make_schedule(arrivals, crowd.devices, crowd.batch, crowd.delay, crowd.buffer, rng)


def _crowd(
    data: Dataset, schedule: Schedule, plan: Plan, points: int, rng: np.random.Generator
) -> Curve:
    samples = np.linspace(0, len(data.y_train) * plan.crowd.passes, points + 1).astype(np.int64)
    stops = np.searchsorted(schedule.tick, samples, side="right")
    w, wrong = learn(data, schedule, plan.learning, stops, rng)
    model = plan.learning.model_for(data)
    errors = [error_rate(model, row, data.x_test, data.y_test) for row in w]
    used = np.concatenate([[0], schedule.start[stops[1:]]])
    counted = np.concatenate([[0], np.cumsum(wrong)])[stops]
    return Curve(
        samples=samples,
        errors=np.array([errors]),
        online_errors=(counted / np.maximum(used, 1))[None],
        checkins=schedule.n_checkins,
        epsilon_per_sample=_largest_epsilon(schedule.used, plan.learning),
        epsilon_per_device=_largest_epsilon(schedule.device, plan.learning),
    )


def _largest_epsilon(who: npt.NDArray[np.int32], learning: Learning) -> float:
    """ε times how often the most frequent one occurs, and 0 if nothing was sent at all."""
    return learning.epsilon * int(np.bincount(who).max()) if len(who) else 0.0


def _central(data: Dataset, plan: Plan, seed: tuple[int, ...], points: int) -> Curve:
    """Learn from data as they are: a server does not know whose they are, nor adds noise."""
    learning, n_samples = replace(plan.learning, epsilon=math.inf), len(data.y_train)
    if plan.approach == "central-sgd":
        server = Crowd(devices=1, batch=plan.crowd.batch, passes=plan.crowd.passes)
        pooled = replace(data, person=np.zeros(n_samples, np.int64))
        curve = run_trial(pooled, [Plan(server, learning)], seed, points)[0]
    else:
        model = learning.model_for(data)
        w = central_batch(model, data.x_train, data.y_train, learning.regularization)
        errors = np.full((1, 2), error_rate(model, w, data.x_test, data.y_test))
        curve = Curve(np.array([0, n_samples * plan.crowd.passes]), errors, errors)
    epsilon, devices = plan.learning.epsilon, min(plan.crowd.devices, n_samples)
    return replace(
        curve,
        checkins=n_samples,
        epsilon_per_sample=epsilon,
        epsilon_per_device=epsilon * math.ceil(n_samples / devices),
    )

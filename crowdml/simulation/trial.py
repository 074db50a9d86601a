"""Run one trial by any of the approaches that the paper compares."""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np

from crowdml.privacy import Loss, Role, StandIn
from crowdml.simulation.baselines import central_batch, measure, perturb
from crowdml.simulation.crowd_settings import Crowd
from crowdml.simulation.curve import Curve
from crowdml.simulation.datasets import Dataset
from crowdml.simulation.decentral import decentralized
from crowdml.simulation.fold import learn
from crowdml.simulation.learning_setup import LearningSetup, model_for
from crowdml.simulation.pilot import TrialPilot
from crowdml.simulation.plan import Plan
from crowdml.simulation.schedule import Schedule, arrive, make_schedule

Data: TypeAlias = Dataset | Callable[[np.random.Generator], Dataset]
"""The same samples in every trial, or a function that draws the samples of a trial."""

DATA_STREAM = 2**32 - 1
"""The random stream that a trial's data are drawn from; 1, 2, … are those of its plans' noise."""

PILOT_STREAM = DATA_STREAM - 1
"""The random stream of a trial's pilot, which is the same for all crowds of the trial."""


def run_trial(
    data: Data, plans: Sequence[Plan], seed: tuple[int, ...], points: int = 30, first: int = 0
) -> list[Curve]:
    """Return a curve of one trial for each plan; all plans have the same `shared`.

    The noise depends on the numbers of the plans, which begin with `first`. So a part of a longer
    list of plans gives the same curves as the whole list.
    """
    rng = np.random.default_rng([*seed, DATA_STREAM])
    if not isinstance(data, Dataset):
        data = data(rng)
    pilot = None
    if plans[0].crowd.pilot is not None:
        pilot_rng = np.random.default_rng([*seed, PILOT_STREAM])
        pilot, data = TrialPilot.of(data, plans[0].crowd, pilot_rng)
    if plans[0].central:
        data = perturb(data, plans[0].learning.epsilon, rng)
    elif plans[0].approach == "crowd":
        schedule = schedule_of_crowd(data, plans[0].crowd, np.random.default_rng(seed))
    curves = []
    for number, plan in enumerate(plans, start=first):
        alone = None
        if pilot is not None:
            alone, plan = pilot.error(plan), pilot.with_start(plan)
        began = time.perf_counter()
        if plan.central:
            curve = _central(data, plan, seed, points)
        elif plan.approach == "decentral":
            curve = decentralized(data, plan.crowd, plan.learning, seed, points)
        else:
            noise = np.random.default_rng([*seed, 1 + number])
            curve = _crowd(data, schedule, plan, points, noise)
        seconds = time.perf_counter() - began
        curves.append(replace(curve, pilot_error=alone, seconds=seconds))
    return curves


def schedule_of_crowd(data: Dataset, crowd: Crowd, rng: np.random.Generator) -> Schedule:
    """Deal the samples to devices and run the clock."""
    device_of_sample = data.assign(crowd.devices, rng, crowd.skew, crowd.spread)
    owners = device_of_sample.astype(np.int32)
    arrivals = arrive(owners, crowd.passes, rng, crowd.late, crowd.leaving)
    schedule = make_schedule(
        arrivals,
        crowd.devices,
        crowd.batch,
        crowd.delay,
        crowd.buffer,
        rng,
        checkins=crowd.checkins,
        roles=crowd.roles,
    )._replace(heldout=crowd.heldout)
    if crowd.liars:
        liars = rng.permutation(crowd.devices)[: round(crowd.liars * crowd.devices)]
        schedule = schedule._replace(liars=liars.astype(np.int32))
    if crowd.updates is None:
        return schedule
    return schedule.ended_after(crowd.updates, crowd.roles.share(Role.TRAIN))


def _crowd(
    data: Dataset, schedule: Schedule, plan: Plan, points: int, rng: np.random.Generator
) -> Curve:
    samples = np.linspace(0, len(data.y_train) * plan.crowd.passes, points + 1).astype(np.int64)
    training = schedule.training
    stops = np.searchsorted(training.tick, samples, side="right")
    w, wrong = learn(data, training, plan.learning, stops, rng)
    setup = LearningSetup.of(plan.learning, data, training)
    errors, rmse = measure(setup.model, w, data.bounded_test(setup.stand_in.norm))
    used = np.concatenate([[0], training.start[stops[1:]]])
    counted = np.concatenate([[0], np.cumsum(wrong)])[stops]
    per_sample, per_device, per_person = epsilons_spent(schedule, setup.stand_in)
    return Curve(
        samples=samples,
        errors=errors[None],
        online_errors=(counted / np.maximum(used, 1))[None],
        rmse=rmse[None],
        checkins=schedule.n_checkins,
        c=setup.spec.c or 0.0,
        left_over=1 - len(schedule.used) / max(schedule.arrived, 1),
        epsilon_per_sample=per_sample,
        epsilon_spent=per_device,
        epsilon_per_person=per_person,
    )


def epsilons_spent(schedule: Schedule, stand_in: StandIn) -> tuple[float, float, float]:
    """Return ε of the most used sample, of the busiest device, and of all samples of a device."""
    if not schedule.n_checkins:
        return 0.0, 0.0, 0.0
    sizes = np.diff(schedule.start)
    losses = {n: stand_in.losses(n) for n in np.unique(sizes).tolist()}
    one = losses[int(sizes[0])][0]
    uses, checkins = np.bincount(schedule.used).max(), np.bincount(schedule.device).max()
    whole = np.zeros((2, int(sizes.max()) + 1))
    for n, (_, loss) in losses.items():
        whole[:, n] = loss.epsilon, loss.rho
    epsilon, rho = (
        float(np.bincount(schedule.device, weights=part[sizes]).max()) for part in whole
    )
    person = Loss(epsilon, rho, one.delta)
    return one.times(int(uses)).total, one.times(int(checkins)).total, person.total


def _central(data: Dataset, plan: Plan, seed: tuple[int, ...], points: int) -> Curve:
    """Learn from the data as they are: a server that does not know people and adds no noise."""
    learning = replace(plan.learning, epsilon=math.inf, limits_length=False)
    n_samples = len(data.y_train)
    if plan.approach == "central-sgd":
        server = Crowd(devices=1, batch=plan.crowd.batch, passes=plan.crowd.passes)
        pooled = replace(data, person=np.zeros(n_samples, np.int64))
        curve = run_trial(pooled, [Plan(server, learning)], seed, points)[0]
    else:
        model, seen = model_for(learning, data), data.bounded(plan.norm)
        w = central_batch(model, seen.x_train, seen.y_train, learning.regularization)
        error, rmse = measure(model, w[None], (seen.x_test, seen.y_test))
        ends = np.array([0, n_samples * plan.crowd.passes])
        errors = np.repeat(error, 2)[None]
        curve = Curve(ends, errors, errors, np.repeat(rmse, 2)[None])
    epsilon, devices = plan.learning.epsilon, min(plan.crowd.devices, n_samples)
    per_device = epsilon * math.ceil(n_samples / devices)
    return replace(
        curve,
        checkins=n_samples,
        left_over=0.0,
        epsilon_per_sample=epsilon,
        epsilon_spent=per_device,
        epsilon_per_person=per_device,
    )

"""Will this crowd learn, and with which settings? Simulated before anyone is asked."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from crowdml.errors import InvalidInput
from crowdml.privacy import Unit
from crowdml.protocol import MECHANISMS, Task
from crowdml.simulation.advice.advice import MOST_TIMES, Advice, Gathering, Option
from crowdml.simulation.advice.plans import (
    MOST_SAMPLES,
    devices_of,
    option_of,
    own_plan,
    own_setting,
    plan_for,
    samples_of,
)
from crowdml.simulation.advice.sentences import (
    clearly_better,
    expectation,
    judge,
    sentence_of,
    what_is_better,
)
from crowdml.simulation.baselines import guess_error
from crowdml.simulation.datasets import Dataset, synthetic
from crowdml.simulation.plan import Plan
from crowdml.simulation.settings import Crowd, Learning
from crowdml.simulation.trials import simulate

__all__ = ["advise"]

PARTS = (1, 2, 5, 10)
"""Into how many check-ins a device's samples are tried to be split."""

NOT_WORSE = 0.01
"""Errors this close count as the same, and then less of a participant's time is better."""


def advise(
    task: Task,
    gathering: Gathering,
    data: Dataset | None = None,
    *,
    difficulty: str = "medium",
    mechanisms: Sequence[str] | None = None,
    target_error: float | None = None,
    trials: int = 3,
    seed: int = 0,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Advice:
    """Simulate mechanisms × b × K for this task and crowd.

    Args:
        task: What is learnt, and at which ε.
        data: Samples that resemble theirs; made-up ones by default.
        difficulty: Of made-up samples: easy, medium or hard.
        mechanisms: Which to try; all by default.
        target_error: Ask how many devices it needs.
        seed: The same seed gives the same advice.
        progress: Called with the number of runs done and in all.
    """
    if target_error is not None and not 0 < target_error < 1:
        raise InvalidInput(f"a target error must be above 0 and below 1, found {target_error:g}.")
    draw = partial(_draw, task, data, difficulty)
    tried = [
        (mechanism, batch, checkins)
        for mechanism in mechanisms or MECHANISMS
        for batch, checkins in _splits(mechanism, gathering.samples)
    ]
    plans = [plan_for(task, gathering, *each) for each in tried]
    typed = own_setting(task, gathering)
    if typed:
        tried.append(typed)
        plans.append(own_plan(task, gathering, *typed))
    model = task.terms.model
    central = Learning(
        model=model.kind, intercept=model.intercept, delta=model.delta, tolerance=model.tolerance
    )
    plans.append(Plan(Crowd(devices=1), central, "central-batch"))
    sized = partial(draw, samples_of(task, gathering))
    curves = simulate(sized, plans, trials, seed, 1, progress=progress)
    guess = guess_error(sized(np.random.default_rng(seed)), model.tolerance)
    options = [
        option_of(task, *each, curve) for each, curve in zip(tried, curves[:-1], strict=True)
    ]
    own = options.pop() if typed else None
    options.sort(key=lambda option: option.error)
    best = _recommended(options)
    needed = None
    if target_error is not None:
        needed = _devices_needed(task, gathering, best, target_error, draw, trials, seed)
    crowd = (devices_of(task, gathering), gathering.devices)
    verdict = partial(judge, guess, curves[-1].final)
    reaches = partial(expectation, *crowd, guess, curves[-1].final)
    sentence = sentence_of(gathering, reaches(best), best, options, target_error, needed)
    own_sentence = f"{reaches(own)}{what_is_better(own, best, options[0])}" if own else None
    return Advice(
        guess,
        curves[-1].final,
        options,
        best,
        needed,
        sentence,
        own=own,
        own_sentence=own_sentence,
        verdict=verdict(best),
        own_verdict=verdict(own) if own else None,
        better=best if own and clearly_better(best, own) else None,
        devices=crowd[1],
        simulated_devices=crowd[0],
    )


def _draw(
    task: Task, data: Dataset | None, difficulty: str, n: int, rng: np.random.Generator
) -> Dataset:
    """So many samples of the crowd: drawn from those that resemble them, or made up."""
    terms = task.terms
    if data is None:
        made = synthetic(n, terms.features.count, terms.target.labels, difficulty, rng)
        scale = 1 if terms.n_classes else terms.target.scale
        return replace(made, y_train=scale * made.y_train, y_test=scale * made.y_test)
    if data.x_train.shape[1] != terms.features.count or len(data.labels) != terms.n_classes:
        raise InvalidInput(
            f"the data must have the task's {terms.features.count} features and "
            f"{terms.n_classes} labels, found {data.x_train.shape[1]} and {len(data.labels)}."
        )
    rows = rng.integers(len(data.y_train), size=n)
    return replace(
        data, x_train=data.x_train[rows], y_train=data.y_train[rows], person=np.zeros(n, np.int64)
    )


def _splits(mechanism: str, samples: int) -> list[tuple[int, int]]:
    """(b, K): all samples in K check-ins; and for whole people a single check-in of fewer."""
    splits = {(samples // parts, parts) for parts in PARTS if samples >= parts}
    if MECHANISMS[mechanism].unit is Unit.CHECKIN:
        splits |= {(samples // parts, 1) for parts in PARTS if samples >= parts}
    return sorted(splits, reverse=True)


def _recommended(options: list[Option]) -> Option:
    """The best that protects whole people; of those as good, the one that takes the least time."""
    whole = [option for option in options if option.protects == "person"] or options
    best = min(option.error for option in whole)
    return min(
        (option for option in whole if option.error <= best + NOT_WORSE),
        key=lambda option: (option.samples, option.checkins, option.error),
    )


def _devices_needed(
    task: Task,
    gathering: Gathering,
    best: Option,
    target: float,
    draw: Callable[[int, np.random.Generator], Dataset],
    trials: int,
    seed: int,
) -> int | None:
    """The fewest devices, to a factor of 1.4 or so, whose mean error is at most the target."""
    for doublings in np.arange(-4, math.log2(MOST_TIMES) + 0.1, 0.5):
        devices = math.ceil(gathering.devices * 2**doublings)
        crowd = replace(gathering, devices=devices, samples=best.samples)
        if devices * best.samples > 10 * MOST_SAMPLES or devices < 2:
            continue
        plan = plan_for(task, crowd, best.mechanism, best.batch, best.checkins)
        plan = replace(plan, crowd=replace(plan.crowd, devices=devices))
        sized = partial(draw, devices * best.samples)
        (curve,) = simulate(sized, [plan], trials, seed, 1)
        if curve.final <= target:
            return devices
    return None

"""Simulate a crowd before anybody is asked: will it learn, and with which settings?"""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from crowdml.errors import InvalidInput
from crowdml.privacy import Unit
from crowdml.protocol import MECHANISMS, Task
from crowdml.simulation.advice.advice import (
    MOST_TIMES,
    Advice,
    ExpectedCrowd,
    HardshipCost,
    PlanOption,
)
from crowdml.simulation.advice.draws import SampleDraws
from crowdml.simulation.advice.plans import (
    MOST_NUMBERS,
    MOST_SAMPLES,
    TaskVariant,
    devices_of,
    option_of,
    own_variant,
    plan_for,
    samples_of,
    task_of_variant,
    with_liars,
)
from crowdml.simulation.advice.sentences import (
    clearly_better,
    costs_sentence,
    expectation,
    judge,
    liars_sentence,
    sentence_of,
    what_is_better,
)
from crowdml.simulation.advice.sizes import fewest_devices
from crowdml.simulation.baselines import guess_error
from crowdml.simulation.crowd_settings import Crowd, Learning
from crowdml.simulation.curve import Curve
from crowdml.simulation.datasets import Dataset
from crowdml.simulation.plan import Plan
from crowdml.simulation.results import Results
from crowdml.simulation.trials import simulate
from crowdml.types import Array

CHECKIN_COUNTS = (1, 2, 5, 10)
"""The numbers of check-ins into which a device's samples are split, for a try each."""

SAME_ERROR = 0.01
"""Errors this close count as the same, and then less of a participant's time is better."""

FIRST_TRIALS = 3
"""Trials of every option; more are for the best of them alone."""

FINALISTS = 3
"""The number of options for whole people that get all trials, besides the best for samples."""

TARGET_SIZE_FACTOR = 10
"""How many times larger a simulation may be when a target error is asked for."""


def advise(
    task: Task,
    expected: ExpectedCrowd,
    data: Dataset | None = None,
    *,
    difficulty: str = "medium",
    mechanisms: Sequence[str] | None = None,
    target_error: float | None = None,
    trials: int = 10,
    seed: int = 0,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Advice:
    """Simulate this task as it is, and mechanisms × b × K for the same crowd.

    Args:
        task: What is learnt, and at which ε.
        data: Samples that resemble the crowd's; made-up samples by default.
        difficulty: The difficulty of made-up samples: easy, medium or hard.
        mechanisms: The mechanisms to try; all by default.
        target_error: The error for which the number of devices is asked.
        trials: Simulations of the task as it is and of the best options. Fewer than ten give wide
            intervals.
        seed: The same seed gives the same advice.
        progress: Called with the number of runs done and the total.
    """
    if target_error is not None and not 0 < target_error < 1:
        raise InvalidInput(f"a target error must be above 0 and below 1, found {target_error:g}.")
    draw = partial(SampleDraws, task, data, difficulty)
    tasks = {
        variant: task_of_variant(task, expected.devices, variant)
        for mechanism in mechanisms or MECHANISMS
        for variant in _variants(mechanism, expected.samples)
    }
    simulated, typed = devices_of(task, expected), own_variant(task, expected)
    plans = {variant: plan_for(each, expected, simulated) for variant, each in tasks.items()}
    own_plan = plan_for(task, expected, simulated)
    sized, model = draw(samples_of(task, expected)), task.terms.model
    run = partial(simulate, sized, seed=seed, points=1, progress=progress)

    def option(variant: TaskVariant) -> PlanOption:
        return option_of(tasks[variant], variant, curves[plans[variant]])

    central, asked = _central(task), [own_plan] if typed else []
    entered, first = [*plans.values(), *asked, central], min(trials, FIRST_TRIALS)
    curves = dict(zip(entered, run(entered, first), strict=True))
    finalists = list(plans)
    if trials > first:
        finalists = _finalists({variant: option(variant) for variant in plans})
        kept = list(dict.fromkeys([*(plans[variant] for variant in finalists), *asked]))
        for plan, more in zip(kept, run(kept, trials - first, first=first), strict=True):
            curves[plan] = Curve.of([curves[plan], more])
    by_error = sorted(plans, key=lambda variant: curves[plans[variant]].final)
    chosen = _recommended({variant: option(variant) for variant in finalists})
    asked_of = {chosen, *_best_of_each(by_error)}
    lied = _errors_with_liars([plans[variant] for variant in asked_of] + asked, run, first)
    found = {
        variant: replace(option(variant), error_with_liars=lied.get(plans[variant]))
        for variant in by_error
    }
    ranked, best = list(found.values()), found[chosen]
    own, costs = None, list[HardshipCost]()
    if typed:
        own = option_of(task, typed, curves[own_plan])
        own = replace(own, error_with_liars=lied[own_plan])
        for hardship, eased in expected.without_each_hardship().items():
            without = run([plan_for(task, eased, simulated)], trials).curves[0].final
            costs.append(HardshipCost(hardship, without, own.error - without))
    guess = guess_error(sized(np.random.default_rng(seed)), model.tolerance)
    needed = None
    if target_error is not None:
        needed = _devices_needed(task, expected, best, target_error, draw, seed)
    crowd, alone = (simulated, expected.devices), curves[central].final
    reaches = partial(expectation, *crowd, guess, alone)
    sentence = sentence_of(expected, reaches(best), best, ranked, target_error, needed)
    sentence = f"{sentence} {liars_sentence(best, ranked)}"
    own_sentence = None
    if own:
        own_sentence = f"{reaches(own)}{what_is_better(own, best, ranked[0])}"
        own_sentence = (
            f"{own_sentence} {liars_sentence(own, ranked)} {costs_sentence(costs)}".rstrip()
        )
    return Advice(
        guess,
        alone,
        ranked,
        best,
        needed,
        sentence,
        own=own,
        own_sentence=own_sentence,
        verdict=judge(guess, alone, best),
        own_verdict=judge(guess, alone, own) if own else None,
        better=best if own and clearly_better(best, own) else None,
        devices=expected.devices,
        simulated_devices=simulated,
        costs=costs,
    )


def _central(task: Task) -> Plan:
    """Return the plan with all data in one place."""
    model = task.terms.model
    learning = Learning(
        model=model.kind, intercept=model.intercept, delta=model.delta, tolerance=model.tolerance
    )
    return Plan(Crowd(devices=1), learning, "central-batch")


def _variants(mechanism: str, samples: int) -> list[TaskVariant]:
    """List the variants that use all samples in K check-ins, and for whole people a smaller one."""
    splits = {(samples // parts, parts) for parts in CHECKIN_COUNTS if samples >= parts}
    if MECHANISMS[mechanism].unit is Unit.CHECKIN:
        splits |= {(samples // parts, 1) for parts in CHECKIN_COUNTS if samples >= parts}
    return [TaskVariant(mechanism, *split) for split in sorted(splits, reverse=True)]


def _finalists(options: dict[TaskVariant, PlanOption]) -> list[TaskVariant]:
    """Choose the best options for whole people, and the best for samples."""
    ranked = sorted(options, key=lambda variant: options[variant].error)
    whole = [variant for variant in ranked if options[variant].protects == "person"]
    return whole[:FINALISTS] + [variant for variant in ranked if variant not in whole][:1]


def _recommended(options: dict[TaskVariant, PlanOption]) -> TaskVariant:
    """Choose the best option that protects whole people; among equals, the fastest."""
    whole = {variant: option for variant, option in options.items() if option.protects == "person"}
    whole = whole or options
    best = min(option.error for option in whole.values())
    return min(
        (variant for variant, option in whole.items() if option.error <= best + SAME_ERROR),
        key=lambda variant: (whole[variant].samples, whole[variant].checkins, whole[variant].error),
    )


def _best_of_each(ranked: Sequence[TaskVariant]) -> list[TaskVariant]:
    """Return the first variant with each mechanism."""
    return list({variant.mechanism: variant for variant in reversed(ranked)}.values())


def _errors_with_liars(
    plans: Sequence[Plan], run: Callable[..., Results], trials: int
) -> dict[Plan, float]:
    """Simulate the errors of the plans with liars.

    A few trials are enough: liars either cost little or ruin the model.
    """
    asked = list(dict.fromkeys(plans))
    found = run([with_liars(plan) for plan in asked], trials)
    return {plan: curve.final for plan, curve in zip(asked, found, strict=True)}


def _devices_needed(
    task: Task,
    expected: ExpectedCrowd,
    best: PlanOption,
    target: float,
    draw: Callable[[int], SampleDraws],
    seed: int,
) -> int | None:
    """Return the fewest devices with which nine runs in ten reach the target.

    The number is exact to a factor of about 1.4.
    """
    variant = TaskVariant(best.mechanism, best.batch, best.checkins)
    samples = expected.samples if expected.without_each_hardship() else best.samples
    most = TARGET_SIZE_FACTOR * min(MOST_SAMPLES, MOST_NUMBERS // task.terms.features.count)
    steps = np.arange(-4, math.log2(MOST_TIMES) + 0.1, 0.5)
    sizes = [math.ceil(expected.devices * 2**doublings) for doublings in steps]
    sizes = [size for size in dict.fromkeys(sizes) if size >= 2 and size * samples <= most]

    def errors(size: int, runs: int, part: int) -> Array:
        # While a message is on its way, a larger crowd collects more samples.
        delay = expected.delay * size / expected.devices
        crowd = replace(expected, devices=size, samples=samples, delay=delay)
        plan = plan_for(task_of_variant(task, size, variant), crowd, size)
        (curve,) = simulate(draw(size * samples), [plan], runs, 3 * seed + part, 1)
        found: Array = curve.errors[:, -1]
        return found

    return fewest_devices(errors, sizes, target)

"""Simulate on a pilot's own rows what a crowd adds to the pilot, and at which ε."""

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property, partial

import numpy as np
from msgspec.structs import replace as replace_in

from crowdml.errors import InvalidInput
from crowdml.pilot import PilotSamples
from crowdml.protocol import Task
from crowdml.simulation.advice.advice import ExpectedCrowd, HardshipCost
from crowdml.simulation.advice.cross_fitting import TURNS, PilotTurn, is_pilot_of, make_turns
from crowdml.simulation.advice.interval import shift_interval
from crowdml.simulation.advice.pilot_options import EpsilonOption, PilotAdvice, PilotVerdict
from crowdml.simulation.advice.pilot_sentences import (
    recommendation,
    target_sentence,
    verdict_sentence,
    what_is_unknown,
    what_to_do,
)
from crowdml.simulation.advice.plans import (
    MOST_NUMBERS,
    TaskVariant,
    devices_of,
    option_of,
    own_variant,
    plan_for,
    with_epsilon,
    with_liars,
)
from crowdml.simulation.advice.sentences import (
    clearly_better,
    costs_sentence,
    judge,
    liars_sentence,
)
from crowdml.simulation.advice.sizes import fewest_devices
from crowdml.simulation.curve import Curve
from crowdml.simulation.trials import simulate
from crowdml.types import Array

EPSILONS = (0.5, 1.0, 2.0, 4.0, 8.0)
NOT_WORSE = 0.01
"""Errors this close count as the same, and then the smaller ε is better."""

LEAST_GAIN = 0.005
"""A smaller difference from the pilot's error does not count as an improvement."""

STUDENT_95 = 2.13
"""Student's 95 % quantile for the means of five turns."""

CROWD_FACTORS = (3, 10, 30, 100)
"""Where a crowd adds nothing, crowds that are this many times as large are tried."""

SEED_STEP = 1_000_003
"""The distance between the seeds of simulations that must not share their random numbers."""

FEWER_OR_MORE = tuple(2 ** (half / 2) for half in range(-8, 13))
"""Sizes of crowds that are tried for a target error, as multiples of the expected size."""


def pilot_advice(
    task: Task,
    expected: ExpectedCrowd,
    pilot: PilotSamples,
    *,
    target_error: float | None = None,
    trials: int = 3,
    seed: int = 0,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> PilotAdvice:
    """Simulate what a crowd adds to a pilot at several ε, by cross-fitting: see `make_turns`.

    Args:
        task: A task with a start.
        expected: Who is expected to take part.
        pilot: The rows that the start was fitted to; or other rows, for which the start is kept.
        target_error: The error for which the number of people is asked.
        trials: How often each turn is repeated, with another crowd and other noise.
        seed: The same seed gives the same advice.
        progress: Called with the number of turns done and in total.
    """
    if target_error is not None and not 0 < target_error < 1:
        raise InvalidInput(f"a target error must be above 0 and below 1, found {target_error:g}.")
    if task.start is None:
        raise InvalidInput("a plan on a pilot needs a task with a start, found none.")
    crowds = _Crowds(task, expected, make_turns(task, pilot, seed), seed)
    own_epsilon, simulated = float(task.terms.privacy.epsilon), devices_of(task, expected)
    epsilons = sorted({*EPSILONS, own_epsilon})
    curves = crowds.simulate(epsilons, simulated, trials, progress)
    options = [crowds.option(*pair) for pair in zip(epsilons, curves, strict=True)]
    tried = [option for option in options if option.epsilon in EPSILONS]
    best = recommended_of(tried)
    own = options[epsilons.index(own_epsilon)]
    lied = crowds.errors_with_liars({best.epsilon, own_epsilon}, simulated)
    options = [replace(each, error_with_liars=lied.get(each.epsilon)) for each in options]
    best, own = options[epsilons.index(best.epsilon)], options[epsilons.index(own_epsilon)]
    who, remedy = f"{expected.devices:,} people", ""
    if simulated < expected.devices:
        who, remedy = f"{simulated:,} of {who}", "all of them should do better"
    elif own.verdict in ("nothing", "worsens"):
        remedy = what_to_do(*crowds.enough(own_epsilon))
    sentences = [verdict_sentence(who, crowds.mean("pilot_error"), own, remedy)]
    needed = None
    if target_error is not None:
        needed, most = crowds.needed(target_error, own_epsilon)
        sentences.insert(0, target_sentence(target_error, needed, most, own_epsilon))
    sentences.append(liars_sentence(own))
    costs = crowds.costs(best, simulated, trials)
    guess, central = crowds.mean("guess_error"), crowds.mean("central_error")
    start, cross_fitted = task.terms.model.start, is_pilot_of(task, pilot)
    return PilotAdvice(
        guess,
        central,
        options,
        best,
        needed,
        f"{recommendation(EPSILONS, best, tried[-1], NOT_WORSE)} {costs_sentence(costs)}".rstrip(),
        own=own,
        own_sentence=" ".join(sentences),
        verdict=judge(guess, central, best),
        own_verdict=judge(guess, central, own),
        better=best if clearly_better(best, own) else None,
        devices=expected.devices,
        simulated_devices=simulated,
        costs=costs,
        pilot_error=crowds.mean("pilot_error"),
        whole_pilot_error=task.start.error,
        whole_pilot_margin=task.start.error_margin,
        pilot_rows=len(pilot.y),
        pilot_people=pilot.n_people,
        cross_fitted=cross_fitted,
        unknown=what_is_unknown(
            pilot, expected.devices, start.rows if start else None, cross_fitted
        ),
    )


def recommended_of(options: Sequence[EpsilonOption]) -> EpsilonOption:
    """Return the smallest ε with about the error of the largest; `options` are sorted by ε."""
    return next(each for each in options if each.error <= options[-1].error + NOT_WORSE)


def verdict_of(added: Array) -> PilotVerdict:
    """Judge how much crowds improve on their starts; `added` are differences, turns × trials.

    >>> verdict_of(np.array([[-0.03], [-0.04], [-0.02], [-0.03], [-0.03]]))
    'improves'
    """
    gains = -added.mean(axis=1)
    gain, doubt = float(gains.mean()), STUDENT_95 * float(gains.std(ddof=1)) / len(gains) ** 0.5
    if abs(gain) < LEAST_GAIN or -doubt < gain < 0:
        return "nothing"
    return "worsens" if gain < 0 else "improves" if gain > doubt else "unclear"


@dataclass(frozen=True)
class _Crowds:
    """Simulate the crowds of all turns, of any size and at any ε."""

    task: Task
    expected: ExpectedCrowd
    turns: list[PilotTurn]
    seed: int
    lying: bool = False

    @cached_property
    def variant(self) -> TaskVariant:
        """Return the task's own variant, or one for which a device has enough samples."""
        own = own_variant(self.task, self.expected)
        samples, terms = self.expected.samples, self.task.terms
        checkins = min(terms.collection.checkins or 1, samples)
        return own or TaskVariant(terms.mechanism_name, samples // checkins, checkins)

    @cached_property
    def _run_task(self) -> Task:
        """Return the task with a batch for which a device has enough samples."""
        terms, limit = self.task.terms, self.task.terms.collection.checkins
        checkins = None if limit is None else self.variant.checkins
        collection = replace_in(terms.collection, batch=self.variant.batch, checkins=checkins)
        return replace_in(self.task, terms=replace_in(terms, collection=collection))

    @property
    def largest(self) -> int:
        """Return the size of the largest crowd that fits into memory."""
        numbers = self.expected.samples * self.task.terms.features.count
        return max(2 * MOST_NUMBERS // numbers, self.expected.devices)

    def simulate(
        self,
        epsilons: Sequence[float],
        devices: int,
        trials: int = 1,
        progress: Callable[[int, int], None] = lambda done, total: None,
        part: int = 0,
    ) -> list[Curve]:
        """Simulate a curve for each ε; the trials of each turn follow those of the turn before."""
        expected, number = self.expected, len(self.turns)
        found: list[tuple[Curve, ...]] = []
        mixed = expected.skew is not None or self.turns[0].people is None
        progress(0, number)
        for turn in self.turns:
            # A member with the rows of one person has a size that is drawn with the rows.
            crowd = expected if mixed else replace(expected, spread=None)
            made = [
                plan_for(with_epsilon(self._run_task, epsilon), crowd, devices)
                for epsilon in epsilons
            ]
            plans = [
                replace(plan, learning=replace(plan.learning, start=turn.start)) for plan in made
            ]
            if self.lying:
                plans = [with_liars(plan) for plan in plans]
            draw = partial(turn.draw, devices, expected.samples, mixed, expected.spread)
            done, seed = len(found), (self.seed + SEED_STEP * part) * TURNS + len(found)
            found.append(simulate(draw, plans, trials, seed, points=1).curves)
            progress(done + 1, number)
        return [Curve.of(curves) for curves in zip(*found, strict=True)]

    def mean(self, name: str) -> float:
        """Average a number over the turns."""
        return float(np.mean([getattr(turn, name) for turn in self.turns]))

    def added(self, curve: Curve) -> Array:
        """Return the error of each crowd minus the error of its start, turns × trials."""
        alone = np.array([[turn.pilot_error] for turn in self.turns])
        added: Array = curve.errors[:, -1].reshape(len(self.turns), -1) - alone
        return added

    def option(self, epsilon: float, curve: Curve) -> EpsilonOption:
        """Describe what to expect at this ε.

        The tests of turns differ, so the spread is the spread of what is added.
        """
        added, alone = self.added(curve), self.mean("pilot_error")
        option = asdict(option_of(with_epsilon(self._run_task, epsilon), self.variant, curve))
        low, high = (min(max(alone + shift, 0.0), 1.0) for shift in shift_interval(added.ravel()))
        spread = {"std": float(added.std()), "low": low, "high": high}
        return EpsilonOption(**option | spread, epsilon=epsilon, verdict=verdict_of(added))

    def costs(self, option: EpsilonOption, devices: int, trials: int) -> list[HardshipCost]:
        """Compute what each hardship of the crowd costs at the ε of this option."""
        costs = []
        for hardship, eased in self.expected.without_each_hardship().items():
            (curve,) = replace(self, expected=eased).simulate([option.epsilon], devices, trials)
            costs.append(HardshipCost(hardship, curve.final, option.error - curve.final))
        return costs

    def errors_with_liars(self, epsilons: set[float], devices: int) -> dict[float, float]:
        """Simulate the errors at these ε if some devices lie, with one trial of each turn."""
        asked = sorted(epsilons)
        curves = replace(self, lying=True).simulate(asked, devices)
        return {epsilon: curve.final for epsilon, curve in zip(asked, curves, strict=True)}

    def enough(self, epsilon: float) -> tuple[int | None, int | None]:
        """Return the first larger crowd that may improve the pilot, and the largest tried."""
        most = None
        for times in CROWD_FACTORS:
            devices = times * self.expected.devices
            if devices > self.largest:
                break
            most = devices
            (curve,) = self.simulate([epsilon], devices)
            if verdict_of(self.added(curve)) in ("improves", "unclear"):
                return devices, devices
        return None, most

    def needed(self, target: float, epsilon: float) -> tuple[int | None, int]:
        """Return the fewest people with whom nine crowds in ten reach an error, and the most tried.

        The number is exact to a factor of about 1.4.
        """
        sizes = [math.ceil(self.expected.devices * times) for times in FEWER_OR_MORE]
        sizes = [size for size in sizes if 2 <= size <= self.largest]
        alone = self.mean("pilot_error")
        if alone <= target:
            return 0, sizes[-1]

        def errors(size: int, runs: int, part: int) -> Array:
            trials = math.ceil(runs / len(self.turns))
            (curve,) = self.simulate([epsilon], size, trials, part=1 + part)
            return np.clip(alone + self.added(curve).ravel(), 0.0, 1.0)

        return fewest_devices(errors, sizes, target), sizes[-1]

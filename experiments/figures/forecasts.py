"""Check whether forecasts come true: `crowdml plan` beside runs of the task itself.

Run: python experiments/figures/forecasts.py [as-it-is] [intervals] [devices] [skew]
"""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from crowdml.learning import CheckinStep
from crowdml.models import Minibatch
from crowdml.privacy import CheckinKey, SystemChance
from crowdml.protocol import Task, set_fields, terms_hash
from crowdml.simulation import (
    Advice,
    ExpectedCrowd,
    advise,
    error_rate,
    guess_error,
    load_activity,
    load_digits,
    simulate,
)
from crowdml.simulation.advice.draws import SampleDraws
from crowdml.simulation.advice.interval import error_interval
from crowdml.simulation.advice.plans import TaskVariant, plan_for, task_of_variant
from crowdml.simulation.advice.sentences import VERDICTS, judge_error
from crowdml.simulation.datasets import Dataset
from crowdml.types import Array, Flags

FILE = """\
name = "forecast"
title = "Forecast"
objective = "to learn"
owner = "Jane Doe"
contact = "jane@example.org"
purpose = "a free app"
sensors = "light"
[features]
count = 10
[target]
labels = ["a", "b", "c"]
[model]
kind = "softmax"
[privacy]
epsilon = 4.0
[collection]
batch = 20
[stop]
updates = 150
"""


@dataclass(frozen=True)
class Case:
    """Describe a task and its crowd.

    Args:
        changes: Fields of the task file.
        data: The name of a data set whose rows the crowd draws; made-up data if empty.
    """

    name: str
    expected: ExpectedCrowd
    changes: dict[str, Any]
    data: str = ""

    @property
    def task(self) -> Task:
        return Task.from_toml(set_fields(FILE, self.changes))

    def samples(self) -> Dataset | None:
        return (
            {"digits": load_digits, "activity": load_activity}[self.data]() if self.data else None
        )

    def draws(self, expected: ExpectedCrowd | None = None) -> SampleDraws:
        crowd = expected or self.expected
        return SampleDraws(self.task, self.samples(), "medium", crowd.devices * crowd.samples)


DIGITS = {"features.count": 64, "target.labels": [str(n) for n in range(10)]}
ACTIVITY = {"features.count": 12, "target.labels": list(load_activity().labels)}
GAUSSIAN = {"privacy.mechanism": "gaussian", "privacy.epsilon": 1.0}

CASES = (
    Case("made-up", ExpectedCrowd(150, 20), {}),
    Case("digits, T = 20,000", ExpectedCrowd(300, 20),
         DIGITS | {"privacy.epsilon": 10.0, "stop.updates": 20_000}, "digits"),
    Case("gaussian, δ = 10⁻¹²", ExpectedCrowd(100, 50),
         ACTIVITY | GAUSSIAN | {"privacy.delta": 1e-12, "collection.batch": 50,
                                "stop.updates": 100}, "activity"),
    Case("laplace, ε_e, ε_y and held-out samples", ExpectedCrowd(150, 20),
         {"privacy.mechanism": "laplace", "privacy.epsilon": 2.0, "privacy.epsilon_y": 0.8,
          "privacy.epsilon_e": 0.5, "collection.heldout": 0.3}),
    Case("64 directions, half of them evaluate", ExpectedCrowd(150, 20),
         {"privacy.directions": 64, "collection.evaluators": 0.5, "collection.checkins": 2,
          "collection.batch": 10, "stop.updates": 300}),
    Case("activity, ε = 1", ExpectedCrowd(100, 50),
         ACTIVITY | {"privacy.epsilon": 1.0, "collection.batch": 50, "stop.updates": 100},
         "activity"),
)  # fmt: skip


def real_error(case: Case, rng: np.random.Generator) -> float:
    """Run the task itself: its own mechanism on every device, and its own step on the server.

    Only the samples come from the simulator. Devices check in in random order.
    """
    task, data = case.task, case.draws()(rng)
    mechanism, model, terms = task.terms.mechanism(), task.terms.make_model(), task.terms
    step, pinned, chance = CheckinStep.of(task, mechanism), terms_hash(terms.text), SystemChance()
    state, seen = step.start(model.size, w0=task.w0), data.bounded(mechanism.norm)
    devices, samples = case.expected.devices, case.expected.samples
    batch = terms.collection.batch
    each = terms.collection.checkins or samples // batch
    turns = rng.permutation(np.repeat(np.arange(devices), each))[: task.t_max]
    sent = np.zeros(devices, np.int64)
    crowd = int(rng.integers(2**62))  # names decide roles and codebooks, so each crowd has its own
    for device in turns.tolist():
        first = device * samples + sent[device] * batch
        rows = slice(first, first + batch)
        sent[device] += 1
        key = CheckinKey(pinned, f"{crowd}-{device}", int(sent[device]))
        minibatch = Minibatch(model, state.w, seen.x_train[rows], seen.y_train[rows])
        payload = mechanism.make_payload(minibatch, mechanism.event(batch, key), key, chance)
        state = step(state, mechanism.read(payload, key), device, batch)
    w = step.optimizer.model(state.optimizer, state.w)
    return error_rate(model, w, seen.x_test, seen.y_test)


def simulated_errors(case: Case, runs: int, seed: int = 0) -> Array:
    """Simulate the errors of the task as the plan does."""
    plan = plan_for(case.task, case.expected, case.expected.devices)
    (curve,) = simulate(case.draws(), [plan], runs, seed, 1)
    errors: Array = curve.errors[:, -1]
    return errors


PLANS, TRIALS = 40, 10
"""The number of plans of each task that are compared with real runs, and their simulated runs."""


def as_it_is(runs: int) -> Iterator[str]:
    """Compare the forecast of each task with real runs: how many runs the interval of a plan holds.

    An interval rests on ten runs, so a single interval may be lucky or unlucky. The column "worst"
    is the unluckiest plan.
    """
    yield "| | forecast | real, mean | real runs in the interval | worst plan | its interval |"
    yield "|---|---|---|---|---|---|"
    for number, case in enumerate(CASES):
        errors = simulated_errors(case, PLANS * TRIALS, seed=2)
        ends = [error_interval(group) for group in errors.reshape(PLANS, TRIALS)]
        real = [real_error(case, np.random.default_rng([2, number, run])) for run in range(runs)]
        held = [np.mean([low <= error <= high for error in real]) for low, high in ends]
        low, high = ends[int(np.argmin(held))]
        yield (
            f"| {case.name} | {errors.mean():.3f} ± {errors.std() / len(errors) ** 0.5:.3f} "
            f"| {np.mean(real):.3f} ± {np.std(real) / runs**0.5:.3f} | {np.mean(held):.2f} "
            f"| {min(held):.2f} | {low:.3f} to {high:.3f} |"
        )


def coverage(errors: Array, guess: float, central: float) -> tuple[float, float]:
    """Compare the interval of each group of ten runs with all other runs.

    Returns the share of the runs in the interval, and of those with the verdict of one of its ends,
    or of one between them.
    """
    verdicts = np.array([judge_error(guess, central, error) for error in errors])
    names, held, agreed = list(VERDICTS), [], []
    for first in range(0, len(errors) - TRIALS + 1, TRIALS):
        others: Flags = np.ones(len(errors), np.bool_)
        others[first : first + TRIALS] = False
        low, high = ends = error_interval(errors[first : first + TRIALS])
        best, worst = (names.index(judge_error(guess, central, end)) for end in ends)
        held.append(np.mean((errors[others] >= low) & (errors[others] <= high)))
        agreed.append(np.mean(np.isin(verdicts[others], names[best : worst + 1])))
    return float(np.mean(held)), float(np.mean(agreed))


def intervals(runs: int) -> Iterator[str]:
    """Print how many runs the interval of ten others holds, and how many have its verdict."""
    yield "| | error | in the interval | verdicts |"
    yield "|---|---|---|---|"
    for case in CASES:
        errors, data = simulated_errors(case, runs, seed=1), case.draws()(np.random.default_rng(0))
        guess = guess_error(data, case.task.terms.model.tolerance)
        # Verdicts are hardest where a boundary goes through the middle of the runs.
        central = guess - (guess - float(np.median(errors))) / 0.9
        held, agreed = coverage(errors, guess, central)
        yield f"| {case.name} | {errors.mean():.3f} | {held:.2f} | {agreed:.2f} |"


TARGETS = (("made-up", 0.2), ("activity, ε = 1", 0.05))


def devices_needed(
    runs: int, seeds: int = 3, targets: Sequence[tuple[str, float]] = TARGETS
) -> Iterator[str]:
    """Run as many devices as the plan asks for, and count how many runs reach the target."""
    yield "| | target error | devices needed | runs that reach it |"
    yield "|---|---|---|---|"
    for name, target in targets:
        case = next(case for case in CASES if case.name == name)
        found = [needed(case, target, seed) for seed in range(seeds)]
        reached = []
        for advice in found:
            size, best = advice.devices_needed, advice.recommended
            assert size is not None
            variant = TaskVariant(best.mechanism, best.batch, best.checkins)
            crowd = replace(case.expected, devices=size, samples=best.samples)
            plan = plan_for(task_of_variant(case.task, size, variant), crowd, size)
            (curve,) = simulate(case.draws(crowd), [plan], runs, 99, 1)
            reached.append(float(np.mean(curve.errors[:, -1] <= target)))
        sizes = ", ".join(f"{advice.devices_needed:,}" for advice in found)
        yield f"| {name} | {target:g} | {sizes} | {', '.join(f'{s:.0%}' for s in reached)} |"


def needed(case: Case, target: float, seed: int) -> Advice:
    return advise(case.task, case.expected, case.samples(), mechanisms=["direction"],
                  target_error=target, seed=seed)  # fmt: skip


def skew(runs: int) -> Iterator[str]:
    """Simulate 200 devices with 20 samples each, and check-ins that need all 20."""
    yield "| skew | check-ins | error |"
    yield "|---|---|---|"
    for each in (None, 1.0, 0.3, 0.1):
        crowd = ExpectedCrowd(200, 20, skew=each)
        case = replace(CASES[0], expected=crowd, changes={"stop.updates": 200})
        plan = plan_for(case.task, crowd, 200)
        (curve,) = simulate(case.draws(), [plan], runs, 0, 1)
        yield f"| {each or 'none'} | {curve.checkins:.0f} | {curve.final:.3f} |"


PARTS = {
    "as-it-is": (as_it_is, 400),
    "intervals": (intervals, 200),
    "devices": (devices_needed, 100),
    "skew": (skew, 10),
}


def main(parts: list[str]) -> None:
    for part in parts:
        make, runs = PARTS[part]
        print(f"## {part}\n", flush=True)
        for line in make(runs):
            print(line, flush=True)
        print(flush=True)


if __name__ == "__main__":
    main(sys.argv[1:] or [*PARTS])

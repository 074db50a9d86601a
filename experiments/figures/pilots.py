"""Check whether crowds that start from a pilot end in the range that the plan on it gives.

Run: PYTHONPATH=. python experiments/figures/pilots.py [PILOTS] [CROWDS]
"""

import sys
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from crowdml.pilot import PilotSamples, fit_start
from crowdml.protocol import Start, Task
from crowdml.simulation import ExpectedCrowd, StartPoint, pilot_advice, simulate
from crowdml.simulation.advice.plans import plan_for
from crowdml.simulation.datasets import Dataset
from crowdml.types import Array, Ints

TASK = """
name = "room"
title = "Room"
objective = "to learn"
owner = "Jane Doe"
contact = "jane@example.org"
purpose = "a free app"
sensors = "light and warmth"
[features]
names = ["light", "warmth"]
center = [300.0, 21.0]
scale = [250.0, 3.0]
length = 2.0
[target]
labels = ["cold", "warm"]
[model]
kind = "softmax"
start = "room.start.npz"
[privacy]
epsilon = 1.0
[collection]
batch = 10
[stop]
updates = 300
"""
CROWD = ExpectedCrowd(devices=300, samples=10)
ROWS, TESTED = 120, 5000


class World(NamedTuple):
    """Describe who votes: from which warmth on people say "warm" differs by this much."""

    name: str
    differ: float
    people: int


WORLDS = (World("people are alike", 0.0, 120), World("12 people who differ", 2.0, 12))


class Found(NamedTuple):
    """Hold the range of a plan, and the errors of crowds that start from its pilot."""

    low: float
    high: float
    errors: Array


def rows_of(world: World, person: Ints, rng: np.random.Generator) -> tuple[Array, Array]:
    """Draw a room and a vote for each row. Light does not matter."""
    own = rng.normal(21, world.differ, person.max() + 1)[person]
    x = np.column_stack([rng.normal(300, 250, len(person)), rng.normal(21, 3, len(person))])
    return x, (x[:, 1] - own + 1.5 * rng.normal(size=len(person)) > 0).astype(float)


def crowd_of(world: World, task: Task, rng: np.random.Generator) -> Dataset:
    """Draw a crowd of other people, and a large test on others again."""
    scaled, one_each = task.terms.features.scaled_rows, np.arange(TESTED)
    person = np.repeat(np.arange(CROWD.devices), CROWD.samples)
    x, y = rows_of(world, person, rng)
    x_test, y_test = rows_of(world, one_each, rng)
    labels = task.terms.target.labels
    return Dataset("rooms", labels, scaled(x), y, person, scaled(x_test), y_test)


def task_of(pilot: PilotSamples) -> Task:
    """Make the task that starts from this pilot."""
    blank = Task.from_toml(TASK.replace('start = "room.start.npz"\n', ""))
    features, labels = blank.terms.features, blank.terms.target.labels
    x = features.scaled_rows(pilot.x)
    fitted = fit_start(blank.terms.make_model(), x, pilot.y, pilot.people)
    start = Start(
        "softmax", labels, fitted.w[:4].reshape(2, 2), fitted.w[4:],
        features.names, features.center, features.scale, features.length,
        rows=len(pilot.y), people=pilot.n_people, distance=fitted.distance,
        error=fitted.error, error_margin=fitted.error_margin,
    )  # fmt: skip
    return Task.from_toml(TASK, start=start)


def planned(world: World, seed: int, crowds: int, trials: int = 3) -> Found:
    """Plan on a pilot, and simulate crowds with new rows that start from the whole pilot."""
    rng = np.random.default_rng(seed)
    person = np.arange(ROWS) % world.people
    pilot = PilotSamples(*rows_of(world, person, rng), person)
    task = task_of(pilot)
    own = pilot_advice(task, CROWD, pilot, trials=trials, seed=seed).own
    assert task.start is not None
    start = StartPoint(
        tuple(task.start.w.tolist()), task.start.distance or None, ROWS, pilot.n_people
    )
    plan = plan_for(task, CROWD, CROWD.devices)
    plan = replace(plan, learning=replace(plan.learning, start=start))
    (curve,) = simulate(partial(crowd_of, world, task), [plan], crowds, seed, 1)
    return Found(own.low, own.high, curve.errors[:, -1])


def main(pilots: int, crowds: int) -> None:
    print("| world | plan: from | to | crowds: error | in the range | worst pilot |")
    print("|---|---|---|---|---|---|")
    for world in WORLDS:
        found = [planned(world, seed, crowds) for seed in range(pilots)]
        held = [np.mean((each.errors >= each.low) & (each.errors <= each.high)) for each in found]
        low, high = (np.mean([each[k] for each in found]) for k in (0, 1))
        error = np.mean([each.errors.mean() for each in found])
        print(
            f"| {world.name} | {low:.3f} | {high:.3f} | {error:.3f} | {np.mean(held):.2f} "
            f"| {min(held):.2f} |",
            flush=True,
        )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:] or (15, 20)))

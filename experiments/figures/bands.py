"""Measure how often the band of the error contains the error of the exported model.

Run: python experiments/figures/bands.py [--streams N] [--seed N] [--people] [--shapes]
"""

import argparse
import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from typing import NamedTuple

import numpy as np
from scipy.stats import beta

from crowdml.learning import current_error
from crowdml.privacy import DirectionMechanism, NoiseMechanism
from crowdml.protocol import (
    MECHANISMS,
    CollectionSpec,
    Features,
    ModelTerms,
    Target,
    Terms,
    WantedPrivacy,
)
from crowdml.simulation import (
    Dataset,
    Learning,
    LearningSetup,
    error_rate,
    learn,
    load_activity,
    load_digits,
    one_by_one,
)
from crowdml.types import Array

__all__ = ["CELLS", "CHECKINS", "Cell", "Stream", "coverage", "main", "streams"]

CHECKINS = (20, 50, 200, 1000, 5000)
"""The numbers of check-ins after which the band is checked."""

RUNS = 250
"""The number of models that are learnt for each cell; several crowds report on each model."""

SEED = 90_000
"""The first seed. The band's constants were chosen with models of other seeds."""

EVALUATORS, COUNTERS = 0.15, 0.05


class Cell(NamedTuple):
    """Describe a row of the table.

    Args:
        people: Beta concentration of the errors of people; None where each report comes from
            another device, and all are alike.
        devices: How many devices take turns, each with five check-ins in a row on average.
        shape: One of `SHAPES` in place of models that are learnt.
    """

    n_classes: int
    epsilon: float
    mechanism: str
    heldout: float = 0.0
    people: float | None = None
    devices: int = 100
    shape: str = ""

    @property
    def batch(self) -> int:
        return 5 if self.mechanism == "direction" else 20


class Stream(NamedTuple):
    """Hold one crowd's reports for `current_error`, and the true error of each version."""

    rows: Array
    noise_variance: float
    truth: Array


CELLS = [
    Cell(n_classes, epsilon, mechanism, heldout)
    for n_classes in (2, 3, 10)
    for epsilon in (1.0, 4.0)
    for mechanism, heldout in (
        ("direction", 0.0), ("laplace", 0.0), ("laplace", 0.25), ("gaussian", 0.0),
        ("gaussian", 0.25),
    )
]  # fmt: skip
PEOPLE = [
    Cell(n_classes, 4.0, mechanism, 0.0 if mechanism == "direction" else 0.25, people, devices)
    for n_classes, mechanism in (
        (2, "direction"), (2, "gaussian"), (3, "laplace"), (10, "laplace"), (10, "gaussian")
    )
    for people in (1.0, 3.0)
    for devices in (20, 100)
]  # fmt: skip


SHAPES: dict[str, Callable[[Array, np.random.Generator], Array]] = {
    "flat": lambda t, rng: np.full(len(t), rng.uniform(0.05, 0.6)),
    "power": lambda t, rng: rng.uniform(0.5, 0.9) * (1 + t / 10) ** -rng.uniform(0.2, 0.6),
    "exponential": lambda t, rng: (
        rng.uniform(0.03, 0.3) + 0.5 * np.exp(-t / 10 ** rng.uniform(1.5, 4))
    ),
    "late": lambda t, rng: 0.1 + 0.6 / (1 + (t / 10 ** rng.uniform(1.5, 4)) ** 2),
    "worse": lambda t, rng: 0.15 + 0.3 / (1 + (10 ** rng.uniform(1.5, 4) / (t + 1)) ** 1.0),
}
"""Learning curves by formula: the error after t check-ins. "Late" stays at 0.7, then falls to 0.1
while log t grows by 2 or so; "worse" rises from 0.15 to 0.45."""

SHAPED = [
    cell._replace(shape=shape)
    for shape in SHAPES
    for cell in (
        Cell(2, 4.0, "direction"), Cell(2, 1.0, "laplace", 0.25), Cell(2, 4.0, "gaussian", 0.25),
        Cell(2, 4.0, "gaussian", 0.25, people=2.0),
    )
]  # fmt: skip


def streams(cell: Cell, n: int, seed: int = SEED, updates: int = CHECKINS[-1]) -> Iterator[Stream]:
    """Learn models with the mechanism's own law, and let crowds report on them."""
    mechanism = _mechanism(cell)
    stops = np.unique(np.concatenate([np.arange(61), np.geomspace(60, updates, 120).round()]))
    models = n if cell.shape else min(n, RUNS)
    curves = [_curve(cell, stops, updates, seed + k) for k in range(models)]
    versions = np.arange(updates + 1)
    for k in range(n):
        truth = np.interp(versions, stops, curves[k % models])
        rows = _reported(cell, mechanism, truth, np.random.default_rng([seed, k]))
        yield Stream(rows, mechanism.error_variance, truth)


def _curve(cell: Cell, stops: Array, updates: int, seed: int) -> Array:
    if cell.shape:
        return SHAPES[cell.shape](stops, np.random.default_rng(seed))
    learnt = Cell(cell.n_classes, cell.epsilon, cell.mechanism)  # who reports changes no model
    return _errors(learnt, tuple(stops.astype(int).tolist()), updates, seed)


@cache
def _data(n_classes: int) -> Dataset:
    """Load activity for three labels, digits for ten; two labels are small and large digits."""
    if n_classes == 3:
        return load_activity()
    data = load_digits()
    if n_classes == 10:
        return data
    train, test = (np.where(y < 5, 0, 1).astype(y.dtype) for y in (data.y_train, data.y_test))
    return replace(data, y_train=train, y_test=test, labels=("small", "large"))


def _mechanism(cell: Cell) -> DirectionMechanism | NoiseMechanism:
    collection = CollectionSpec(cell.batch, heldout=cell.heldout or None)
    wanted = WantedPrivacy(cell.epsilon, has_labels=True, heldout=cell.heldout > 0)
    terms = Terms(
        task="bands", owner="-", contact="-", purpose="-", sensors="-", features=Features(8),
        target=Target(tuple(f"label {k}" for k in range(cell.n_classes))),
        model=ModelTerms("softmax"),
        privacy=MECHANISMS[cell.mechanism].terms.of(wanted),
        collection=collection.terms(cell.mechanism, cell.n_classes),
    )  # fmt: skip
    mechanism = terms.mechanism()
    assert isinstance(mechanism, DirectionMechanism | NoiseMechanism)
    return mechanism


@cache
def _errors(cell: Cell, stops: tuple[int, ...], updates: int, seed: int) -> Array:
    """Return the test errors of the exported model after these check-ins."""
    trains = 1 - (EVALUATORS + COUNTERS if cell.mechanism == "direction" else 0)
    data, rng = _data(cell.n_classes), np.random.default_rng(seed)
    schedule = one_by_one(round(updates * trains) * cell.batch, cell.batch)
    rows = rng.integers(len(data.y_train), size=len(schedule.used))
    schedule = schedule._replace(used=rows.astype(np.int32), checkins=1)
    learning = Learning(mechanism=cell.mechanism, epsilon=cell.epsilon)
    w, _ = learn(data, schedule, learning, np.round(np.array(stops) * trains).astype(np.int64), rng)
    setup = LearningSetup.of(learning, data, schedule)
    x, y = data.bounded_test(setup.stand_in.norm)
    return np.array([error_rate(setup.model, each, x, y) for each in w])


def _reported(
    cell: Cell,
    mechanism: DirectionMechanism | NoiseMechanism,
    truth: Array,
    rng: np.random.Generator,
) -> Array:
    """Draw what a crowd reports about a model with these errors."""
    version = np.arange(len(truth) - 1)
    if isinstance(mechanism, DirectionMechanism):
        version = version[rng.random(len(version)) < EVALUATORS]
    device, error = np.arange(len(version)), truth[version]
    if cell.people is not None:
        turns = rng.geometric(0.2, len(version))
        device = np.repeat(rng.integers(cell.devices, size=len(version)), turns)[: len(version)]
        person = rng.random(cell.devices)[device]
        a, b = (cell.people * np.clip(each, 1e-3, None) for each in (error, 1 - error))
        error = beta.ppf(person, a, b)
    if isinstance(mechanism, DirectionMechanism):
        n, honest = 1, math.exp(cell.epsilon) / (1 + math.exp(cell.epsilon))
        wrong = (rng.random(len(version)) < error) == (rng.random(len(version)) < honest)
        counts = (wrong - (1 - honest)) / (2 * honest - 1)
    else:
        n = mechanism.n_heldout(cell.batch) or cell.batch
        counts = rng.binomial(n, error) + _noise(cell, mechanism, len(version), rng)
    columns = [version, device, counts, np.full(len(version), n), np.ones(len(version))]
    return np.column_stack(columns).astype(float)


def _noise(cell: Cell, mechanism: NoiseMechanism, size: int, rng: np.random.Generator) -> Array:
    if cell.mechanism == "laplace":
        p = -math.expm1(-mechanism.levels.errors)
        return (rng.geometric(p, size) - rng.geometric(p, size)).astype(float)
    return rng.normal(0, math.sqrt(mechanism.error_variance), size).round()


def coverage(
    cell: Cell, n: int, updates: int = CHECKINS[-1], seed: int = SEED
) -> list[tuple[float, ...]]:
    """Compute the coverage, the share of bands shown and the mean margin by number of check-ins."""
    found: dict[int, list[tuple[float, ...]]] = {t: [] for t in CHECKINS if t <= updates}
    for rows, noise_variance, truth in streams(cell, n, seed, updates):
        for t, seen in found.items():
            known = rows[: int(np.searchsorted(rows[:, 0], t))]
            now = current_error(known, t, noise_variance)
            if now is None:
                seen.append((math.nan, 0.0, math.nan))
            else:
                seen.append((abs(now.value - truth[t]) <= now.margin, 1.0, now.margin))
    return [tuple(_mean(column) for column in zip(*seen, strict=True)) for seen in found.values()]


def _mean(values: tuple[float, ...]) -> float:
    known = [value for value in values if not math.isnan(value)]
    return float(np.mean(known)) if known else math.nan


def _said(covered: float, shown: float, margin: float) -> str:
    if shown < 0.5:
        return "none"
    rarely = "" if shown > 0.995 else f", {shown:.0%} shown"
    return f"{covered:.3f} (±{margin:.3f}{rarely})"


def main() -> None:
    """Print the tables of the README, and count the cells by their coverage."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--streams", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--people", action="store_true", help="people who differ, in bursts")
    parser.add_argument("--shapes", action="store_true", help="learning curves by formula")
    asked = parser.parse_args()
    print("| C | ε | mechanism |", " | ".join(f"{t:,}" for t in CHECKINS), "|")
    print("|---|---|---|" + "---|" * len(CHECKINS))
    covered = []
    for cell in PEOPLE if asked.people else SHAPED if asked.shapes else CELLS:
        name = cell.mechanism + (f", {cell.heldout:g} held out" if cell.heldout else "")
        if cell.people is not None:
            name += f", {cell.devices} people of Beta {cell.people:g}"
        name += f", {cell.shape}" if cell.shape else ""
        found = coverage(cell, asked.streams, seed=asked.seed)
        covered += [share for share, shown, _ in found if shown >= 0.5]
        said = " | ".join(_said(*one) for one in found)
        print(f"| {cell.n_classes} | {cell.epsilon:g} | {name} | {said} |", flush=True)
    low, high = sum(share < 0.93 for share in covered), sum(share > 0.98 for share in covered)
    least = f"the least {min(covered):.3f}"
    print(f"\nOf {len(covered)} shown, {low} are below 0.93 and {high} above 0.98; {least}.")


if __name__ == "__main__":
    main()

"""How often the band of the error contains the error of the exported model.

Run: python experiments/figures/bands.py [--streams N] [--people]
"""

import argparse
import math
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.stats import beta

from crowdml.learning import error_now, share_estimate
from crowdml.privacy import DirectionMechanism, NoiseMechanism
from crowdml.protocol import (
    MECHANISMS,
    CollectionSpec,
    Features,
    ModelTerms,
    Target,
    Terms,
    Wanted,
)
from crowdml.simulation import (
    Dataset,
    Learning,
    Rule,
    error_rate,
    learn,
    load_activity,
    load_digits,
    one_by_one,
)
from crowdml.types import Array, Ints

__all__ = ["CELLS", "CHECKINS", "Cell", "Stream", "coverage", "main", "streams"]

CHECKINS = (20, 50, 200, 1000, 5000)
"""Where the band is looked at."""

RUNS = 40
"""Models that are learnt for each cell; each of them is reported on by several crowds."""

EVALUATORS, COUNTERS, WINDOW = 0.15, 0.05, 200
NEWEST = 1000.0
"""Such an average is the newest iterate, or at 5,000 check-ins that of the newest five."""


class Cell(NamedTuple):
    """What a row of the table is about.

    Args:
        people: Beta concentration of the errors of people; None where each report comes from
            another device, and all are alike.
        devices: How many devices take turns, each with five check-ins in a row on average.
    """

    n_classes: int
    epsilon: float
    mechanism: str
    heldout: float = 0.0
    people: float | None = None
    devices: int = 100

    @property
    def batch(self) -> int:
        return 5 if self.mechanism == "direction" else 20


class Stream(NamedTuple):
    """One crowd's reports: rows as `error_now` takes them, and the true error of each version.

    Args:
        former: The same crowd's reports about the iterates, as they once were.
    """

    rows: Array
    former: Array
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


def streams(cell: Cell, n: int, seed: int = 0, updates: int = CHECKINS[-1]) -> Iterator[Stream]:
    """Learn models with the mechanism's own law, and let crowds report on them."""
    data, mechanism = _data(cell.n_classes), _mechanism(cell)
    stops = np.unique(np.concatenate([np.arange(61), np.geomspace(60, updates, 120).round()]))
    models = min(n, RUNS)
    exported, iterates = (
        [
            _errors(data, cell, stops.astype(np.int64), updates, seed + k, averaging)
            for k in range(models)
        ]
        for averaging in (None, NEWEST)
    )
    versions = np.arange(updates + 1)
    for k in range(n):
        truth, former = (
            np.interp(versions, stops, curves[k % models]) for curves in (exported, iterates)
        )
        rows, old = (
            _reported(cell, mechanism, errors, np.random.default_rng([seed, k]))
            for errors in (truth, former)
        )
        yield Stream(rows, old, mechanism.error_variance, truth)


def _data(n_classes: int) -> Dataset:
    """Activity has three labels, digits ten; two labels are small and large digits."""
    if n_classes == 3:
        return load_activity()
    data = load_digits()
    if n_classes == 10:
        return data
    train, test = (np.where(y < 5, 0, 1).astype(y.dtype) for y in (data.y_train, data.y_test))
    return replace(data, y_train=train, y_test=test, labels=("small", "large"))


def _mechanism(cell: Cell) -> DirectionMechanism | NoiseMechanism:
    collection = CollectionSpec(cell.batch, heldout=cell.heldout or None)
    wanted = Wanted(cell.epsilon, counted=True, heldout=cell.heldout > 0)
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


def _errors(
    data: Dataset, cell: Cell, stops: Ints, updates: int, seed: int, averaging: float | None
) -> Array:
    """The test errors of the exported model after these check-ins."""
    trains = 1 - (EVALUATORS + COUNTERS if cell.mechanism == "direction" else 0)
    rng = np.random.default_rng(seed)
    schedule = one_by_one(round(updates * trains) * cell.batch, cell.batch)
    rows = rng.integers(len(data.y_train), size=len(schedule.used))
    schedule = schedule._replace(used=rows.astype(np.int32), checkins=1)
    learning = Learning(mechanism=cell.mechanism, epsilon=cell.epsilon, averaging=averaging)
    w, _ = learn(data, schedule, learning, np.round(stops * trains).astype(np.int64), rng)
    rule = Rule.of(learning, data, schedule)
    x, y = data.bounded_test(rule.stand_in.norm)
    return np.array([error_rate(rule.model, each, x, y) for each in w])


def _reported(
    cell: Cell,
    mechanism: DirectionMechanism | NoiseMechanism,
    truth: Array,
    rng: np.random.Generator,
) -> Array:
    """What a crowd reports of a model with these errors."""
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
    cell: Cell, n: int, updates: int = CHECKINS[-1], seed: int = 0
) -> list[tuple[float, ...]]:
    """For each number of check-ins: coverage before and after, the share shown, the mean margin."""
    found: dict[int, list[tuple[float, ...]]] = {t: [] for t in CHECKINS if t <= updates}
    for rows, former, noise_variance, truth in streams(cell, n, seed, updates):
        for t, seen in found.items():
            end = int(np.searchsorted(rows[:, 0], t))
            known, recent = rows[:end], former[:end][-WINDOW:]
            errors, evaluated = recent[:, 2].sum(), int(recent[:, 3].sum())
            before = share_estimate(errors, evaluated, len(recent), noise_variance)
            after = error_now(known, t, noise_variance)
            old = math.nan
            if before is not None:
                old = abs(before.value - truth[t]) <= before.margin
            if after is None:
                seen.append((old, math.nan, 0.0, math.nan))
            else:
                seen.append((old, abs(after.value - truth[t]) <= after.margin, 1.0, after.margin))
    return [tuple(_mean(column) for column in zip(*seen, strict=True)) for seen in found.values()]


def _mean(values: tuple[float, ...]) -> float:
    known = [value for value in values if not math.isnan(value)]
    return float(np.mean(known)) if known else math.nan


def _said(before: float, after: float, shown: float, margin: float) -> str:
    if shown < 0.5:
        return f"{before:.2f} → none"
    rarely = "" if shown > 0.995 else f", {shown:.0%} shown"
    return f"{before:.2f} → {after:.2f} (±{margin:.3f}{rarely})"


def main() -> None:
    """Print the tables of the README."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--streams", type=int, default=400)
    parser.add_argument("--people", action="store_true", help="people who differ, in bursts")
    asked = parser.parse_args()
    print("| C | ε | mechanism |", " | ".join(f"{t:,}" for t in CHECKINS), "|")
    print("|---|---|---|" + "---|" * len(CHECKINS))
    for cell in PEOPLE if asked.people else CELLS:
        name = cell.mechanism + (f", {cell.heldout:g} held out" if cell.heldout else "")
        if cell.people is not None:
            name += f", {cell.devices} people of Beta {cell.people:g}"
        said = " | ".join(_said(*one) for one in coverage(cell, asked.streams))
        print(f"| {cell.n_classes} | {cell.epsilon:g} | {name} | {said} |", flush=True)


if __name__ == "__main__":
    main()

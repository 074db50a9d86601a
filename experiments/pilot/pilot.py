"""Compare the reach that a pilot gives with the best of a grid that sees the test error.

Run: CROWDML_DATA=… python experiments/pilot/pilot.py [MECHANISM …]
"""

import json
import sys
from dataclasses import dataclass, replace
from typing import Any

import joblib
import numpy as np

from crowdml.pilot import fit_start
from crowdml.privacy import bound_rows
from crowdml.protocol import MECHANISMS
from crowdml.simulation import (
    Crowd,
    Dataset,
    Learning,
    Plan,
    StartPoint,
    error_rate,
    load_dataset,
    model_for,
    set_aside,
)
from crowdml.simulation.trial import run_trial

EPSILONS = (0.5, 1.0, 2.0, 4.0, 10.0)
REACHES = (1.0, 2.0, 5.0, 10.0, 20.0, 40.0)
"""The values of D in the grid; for numbers in units of their typical size."""

SKEW = 0.3


@dataclass(frozen=True)
class Case:
    """Describe a crowd, and the pilots that it starts from.

    Args:
        rows: How many training samples there are, where not all of them are used.
        pilots: (samples, people), without people where the data do not say whose they are.
        skews: Dirichlet concentrations of labels, or None for devices that are alike.
    """

    title: str
    dataset: str
    devices: int
    batch: int
    trials: int
    pilots: tuple[tuple[int, int | None], ...]
    rows: int | None = None
    skews: tuple[float | None, ...] = (None, SKEW)


IMAGES = ((50, None), (200, None), (1000, None))
CASES = (
    Case("MNIST", "mnist", 980, 60, 3, IMAGES),
    Case("MNIST, 250 people", "mnist", 250, 60, 3, IMAGES, rows=16_250),
    Case("CIFAR-10", "cifar10", 800, 60, 3, IMAGES),
    Case("activity", "activity", 80, 52, 10, ((60, 2), (120, 1), (120, 2), (120, 3), (120, 5))),
    Case("air (numbers)", "air", 980, 60, 3, ((50, 2), (200, 2), (1000, 2)), skews=(None,)),
)


def started(data: Dataset, mechanism: str, rows: int, people: int | None, trial: int) -> Any:
    """Return the crowd's data, the learning that starts from the pilot, and the pilot's error."""
    pilot, rest = set_aside(data, rows, people, np.random.default_rng([trial, 7]))
    norm = MECHANISMS[mechanism].terms.norm
    learning = Learning(mechanism=mechanism, model="softmax" if data.labels else "huber")
    model = model_for(learning, data)
    person = None if people is None else pilot.person
    fitted = fit_start(model, bound_rows(pilot.x_train, norm), pilot.y_train, person, seed=trial)
    start = StartPoint(tuple(fitted.w.tolist()), fitted.distance, len(pilot.y_train), people)
    alone = error_rate(model, fitted.w, *data.bounded_test(norm))
    return rest, replace(learning, start=start), alone


def trial_of(
    data: Dataset, case: Case, mechanism: str, pilot: tuple[int, int | None], trial: int
) -> tuple[float, dict[tuple[float | None, float], list[float]]]:
    """Run one trial: the pilot's own error; by skew and ε the errors of the rule and of each reach.

    All reaches of one ε have the same noise, so that they differ in nothing else.
    """
    rest, learning, alone = started(data, mechanism, *pilot, trial)
    errors = {}
    for skew in case.skews:
        crowd = Crowd(case.devices, case.batch, skew=skew, checkins=1)
        for epsilon in EPSILONS:
            reaches = [None, *(reach * data.target_scale for reach in REACHES)]
            plans = [
                Plan(crowd, replace(learning, epsilon=epsilon, reach=reach)) for reach in reaches
            ]
            curves = [run_trial(rest, [plan], (trial,), points=1)[0] for plan in plans]
            assert curves[0].checkins > 0, "no device has enough samples for a check-in"
            errors[skew, epsilon] = [curve.final for curve in curves]
    return alone, errors


def cells_of(case: Case, mechanism: str) -> list[dict[str, Any]]:
    """Compute means over trials, one cell for each pilot, skew and ε."""
    data = load_dataset(case.dataset)
    if case.rows is not None:
        kept = np.random.default_rng(0).permutation(len(data.y_train))[: case.rows]
        train = {"x_train": data.x_train[kept], "y_train": data.y_train[kept]}
        data = replace(data, person=data.person[kept], **train)
    cells = []
    for pilot in case.pilots:
        jobs = (
            joblib.delayed(trial_of)(data, case, mechanism, pilot, trial)
            for trial in range(case.trials)
        )
        trials = joblib.Parallel(n_jobs=2, prefer="threads")(jobs)
        for skew, epsilon in trials[0][1]:
            errors = np.mean([found[skew, epsilon] for _, found in trials], axis=0)
            cell = {
                "mechanism": mechanism, "case": case.title, "rows": pilot[0], "people": pilot[1],
                "skew": skew, "epsilon": epsilon, "alone": np.mean([one for one, _ in trials]),
                "rule": errors[0], "best": errors[1:].min(),
                "reach": REACHES[int(errors[1:].argmin())],
            }  # fmt: skip
            cells.append(cell)
            print(json.dumps(cell, default=float), file=sys.stderr, flush=True)
    return cells


def summary(cells: list[dict[str, Any]]) -> str:
    """Print one row: how far the rule is above the best reach, and above the pilot alone."""
    above = [cell["rule"] - cell["best"] for cell in cells]
    worse = [cell["rule"] - cell["alone"] for cell in cells]
    numbers = np.mean(above), max(above), max(worse)
    return " | ".join(f"{number:.3f}" for number in numbers)


def grid(cells: list[dict[str, Any]]) -> str:
    """Print the errors by the rule, a row for each pilot, alike / skewed devices in each cell."""
    lines = [f"| {' | '.join(('pilot', 'alone', *(f'ε = {e:g}' for e in EPSILONS)))} |"]
    lines.append("|---" * (2 + len(EPSILONS)) + "|")
    for rows, people in dict.fromkeys((cell["rows"], cell["people"]) for cell in cells):
        own = [cell for cell in cells if (cell["rows"], cell["people"]) == (rows, people)]
        texts = [
            " / ".join(f"{cell['rule']:.3f}" for cell in own if cell["epsilon"] == epsilon)
            for epsilon in EPSILONS
        ]
        whose = "" if people is None else f" of {people}"
        lines.append(f"| {rows}{whose} | {own[0]['alone']:.3f} | {' | '.join(texts)} |")
    return "\n".join(lines)


def main(mechanisms: list[str]) -> None:
    for mechanism in mechanisms:
        print(f"## {mechanism}\n", flush=True)
        found = {case.title: cells_of(case, mechanism) for case in CASES}
        print("| | mean above the best | worst | worst above the pilot alone |\n|---|---|---|---|")
        for title, cells in found.items():
            print(f"| {title} | {summary(cells)} |")
        for title, cells in found.items():
            print(f"\n{title}:\n\n{grid(cells)}")
        print(flush=True)


if __name__ == "__main__":
    main(sys.argv[1:] or [*MECHANISMS])

"""Make a draft of a task from a pilot, for its owner to read."""

import math
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from crowdml.models import MODELS, Model
from crowdml.phrase import Phrase
from crowdml.pilot.constants import choose_features
from crowdml.pilot.fit import PilotFit, fit_start
from crowdml.pilot.rows import PilotRows
from crowdml.pilot.text import task_text
from crowdml.privacy import bound_rows
from crowdml.protocol import (
    MECHANISMS,
    USUAL_MECHANISM,
    Features,
    Start,
    Task,
    listed,
    probability_in_words,
    share_range,
)
from crowdml.types import Array

MOST_FITTED = 5_000
"""Rows that a start is fitted to. More would hardly change it, and take minutes."""

STRONG_EPSILON, MODERATE_EPSILON = 1.0, 4.0
"""ε for a pilot that is large enough to start from, and for another."""

FEWEST_ROWS, FEWEST_PEOPLE = 50, 2
"""A pilot that is large enough: with less, the crowd must be able to leave the start."""

USUAL_BATCH, SMALLEST_BATCH, LARGEST_BATCH = 50, 10, 100
USUAL_UPDATES = 1000


@dataclass(frozen=True, eq=False)
class TaskDraft:
    """Hold a task file and its start, made from a pilot. It contains no row of the pilot.

    Args:
        name: The task's name.
        title: A line for people.
        target_name: What is predicted: the name of the column.
        features: Names and constants of the columns.
        units: The unit of each column, "" where the header has none.
        start: The start of w, and the pilot's own error.
        errors: The pilot's error without intercepts and with them.
        tolerance: A predicted number that is further away is an error.
        batch: Samples in a check-in.
        batch_words: The origin of the batch size.
        updates: Check-ins that are expected.
        epsilon: What a person loses in total.
        epsilon_words: Why, in sentences.
        findings: What was found, in sentences for the owner.
    """

    name: str
    title: str
    target_name: str
    features: Features
    units: tuple[str, ...]
    start: Start
    errors: tuple[float, float]
    tolerance: float
    batch: int
    batch_words: str
    updates: int
    epsilon: float
    epsilon_words: tuple[str, ...]
    findings: tuple[Phrase, ...]

    @property
    def reveals(self) -> Phrase:
        """Say what publishing the start means for the pilot's people."""
        return Phrase(
            "{file} is public once the task is created. It says something about the people of "
            "the pilot, whom this task's promise does not cover: use only data that you may use "
            "openly.",
            file=self.start_file,
        )

    @property
    def start_file(self) -> str:
        """Return the name of the file with the start, beside the task file."""
        return f"{self.name}.start.npz"

    @property
    def text(self) -> str:
        """Write the task file."""
        return task_text(self)

    @property
    def task(self) -> Task:
        """Read the task of the file, with the start."""
        return Task.from_toml(self.text, start=self.start)

    def with_epsilon(self, epsilon: float, *sentences: str) -> "TaskDraft":
        """Return the draft with another ε, and the sentences that say why."""
        return replace(self, epsilon=epsilon, epsilon_words=sentences)


def draft_from_rows(
    name: str,
    rows: PilotRows,
    *,
    devices: int | None = None,
    samples: int | None = None,
    seed: int = 0,
) -> TaskDraft:
    """Make a draft of a pilot's rows.

    Args:
        name: The task's name.
        devices: How many devices are expected, if that is known.
        samples: How many samples each of them collects, if that is known.
        seed: The seed of the folds, the refits, and the rows that are drawn from very many.
    """
    rows, drawn = _at_most(rows, MOST_FITTED, seed)
    norm = _norm()
    features, targets = choose_features(rows, norm), rows.targets
    x = bound_rows(features.scaled_rows(rows.x), norm)
    tolerance = float(f"{targets.scale / 2:.1e}")
    kind = "softmax" if targets.labels else "huber"
    settings = {"delta": targets.scale, "tolerance": tolerance}
    models = [
        MODELS[kind].model(features.count, len(targets.labels), each, **settings)
        for each in (False, True)
    ]
    without, having = (fit_start(model, x, targets.y, rows.people, seed=seed) for model in models)
    intercept = not _clearly_better(without.error, having.error, len(x))
    start = _start(
        models[intercept], having if intercept else without, intercept, kind, rows, features
    )
    epsilon, epsilon_words = _usual_epsilon(start)
    batch, batch_words = _batch(rows, samples)
    draft = TaskDraft(
        name=name,
        title=_title(rows),
        target_name=rows.target_name,
        features=features,
        units=tuple(column.unit for column in rows.columns),
        start=start,
        errors=(without.error, having.error),
        tolerance=tolerance,
        batch=batch,
        batch_words=batch_words,
        updates=devices or USUAL_UPDATES,
        epsilon=epsilon,
        epsilon_words=(epsilon_words,),
        findings=(*rows.findings, *drawn, _own_error(start, targets.guess_error)),
    )
    # A text of the pilot may be invalid in a task file, such as a very long label.
    Task.from_toml(draft.text, start=draft.start)
    return draft


def _clearly_better(error: float, other: float, n: int) -> bool:
    """Return whether an error of n rows is smaller than another by more than random variation.

    An unnecessary constant costs little, and a necessary one is worth a lot, so a few rows more or
    less must not remove it.
    """
    return other - error > math.sqrt(other * (1 - other) / n)


def _norm() -> Literal[1, 2]:
    return 1 if MECHANISMS[USUAL_MECHANISM].terms.norm == 1 else 2


def _at_most(rows: PilotRows, most: int, seed: int) -> tuple[PilotRows, list[Phrase]]:
    n = len(rows.targets.y)
    if n <= most:
        return rows, []
    said = Phrase("The start is fitted to {most} of the {n} rows, drawn at random.", most=most, n=n)
    return rows.take(np.sort(np.random.default_rng(seed).permutation(n)[:most])), [said]


def _start(
    model: Model, fitted: PilotFit, intercept: bool, kind: str, rows: PilotRows, features: Features
) -> Start:
    k, d = max(model.n_classes, 1), features.count
    weights: Array = fitted.w[: k * d].reshape(k, d)
    return Start(
        kind,
        rows.targets.labels,
        weights,
        fitted.w[k * d :] if intercept else None,
        names=features.names,
        center=features.center,
        scale=features.scale,
        length=features.length,
        missing=features.missing,
        norm=_norm(),
        rows=len(rows.targets.y),
        people=rows.n_people,
        regularization=fitted.regularization,
        distance=fitted.distance,
        error=fitted.error,
        error_margin=fitted.error_margin,
        scale_of_target=rows.targets.scale,
    )


def _usual_epsilon(start: Start) -> tuple[float, str]:
    plan = "`crowdml plan` with --data says what a crowd of your size adds to the pilot."
    if start.people is not None and start.people < FEWEST_PEOPLE:
        why = "One person's pilot may be unlike others: at 1 a crowd could hardly correct it."
    elif (start.rows or 0) < FEWEST_ROWS:
        why = f"A pilot of {start.rows} rows is a weak start: at 1 a crowd could hardly correct it."
    else:
        return STRONG_EPSILON, f"1 is strong, and the start makes it practical. {plan}"
    return MODERATE_EPSILON, f"4 is moderate. {why} {plan}"


def _batch(rows: PilotRows, samples: int | None) -> tuple[int, str]:
    if samples is not None:
        return samples, "all samples of a person, in one check-in"
    if rows.people is None:
        return USUAL_BATCH, "samples in a check-in"
    usual = int(np.median(np.bincount(rows.people)))
    batch = min(max(usual, SMALLEST_BATCH), LARGEST_BATCH)
    return batch, f"samples in a check-in; a person of the pilot has {usual:,} rows"


def _title(rows: PilotRows) -> str:
    title = (
        f"Learn {rows.target_name} from {listed([column.name for column in rows.columns], 'and')}"
    )
    return title if len(title) <= 120 else f"{title[:119]}…"


def _own_error(start: Start, guess_error: float) -> Phrase:
    assert start.error is not None
    if start.error_margin is None:
        return Phrase(
            "The pilot alone is {error} wrong, where guessing is {guess} wrong. How far off that "
            "is, nobody knows: one person does not show how others differ.",
            error=probability_in_words(start.error),
            guess=probability_in_words(guess_error),
        )
    return Phrase(
        "The pilot alone is {error} wrong ({by}), where guessing is {guess} wrong.",
        error=share_range(start.error, start.error_margin),
        by=Phrase("by people") if start.people is not None else Phrase("by rows"),
        guess=probability_in_words(guess_error),
    )

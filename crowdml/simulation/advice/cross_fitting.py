"""Cross-fit a pilot: in turn, crowd and test are rows that the start did not see."""

from dataclasses import dataclass, replace

import numpy as np

from crowdml.errors import InvalidInput
from crowdml.models import Model
from crowdml.pilot import PilotSamples, choose_folds, fit_start
from crowdml.privacy import bound_rows
from crowdml.protocol import Task
from crowdml.simulation.baselines import central_batch, error_rate, guess_error
from crowdml.simulation.crowd_settings import StartPoint
from crowdml.simulation.datasets import Dataset
from crowdml.types import Flags, Ints

TURNS = 5
FEWEST_ROWS = 10
USUAL_REGULARIZATION = 1e-3
"""λ for all rows in one place, where no fit has chosen one; for rows of length 1."""


@dataclass(frozen=True, eq=False)
class PilotTurn:
    """Hold one turn: a start, and the rows of others.

    Args:
        start: The start of the crowd's w.
        data: The crowd's rows as training samples, and the test's.
        people: The person of each row of the crowd; None where that is not known.
        guess_error: The error of the most frequent label, or the median.
        pilot_error: The error of the start alone.
        central_error: The error of all rows but the test's in one place.
    """

    start: StartPoint
    data: Dataset
    people: Ints | None
    guess_error: float
    pilot_error: float
    central_error: float

    def draw(
        self,
        devices: int,
        samples: int,
        mixed: bool,
        spread: float | None,
        rng: np.random.Generator,
    ) -> Dataset:
        """Draw a crowd with replacement; a member has rows of one person, where people are known.

        Args:
            devices: How many members there are.
            samples: How many samples each of them has, on average.
            mixed: Whether members have rows of all people, to be dealt by their labels.
            spread: σ of log-normal numbers of samples, for members who are not mixed.
        """
        if mixed or self.people is None:
            rows = rng.integers(len(self.data.y_train), size=devices * samples)
            member = np.zeros(devices * samples, np.int64)
        else:
            order = np.argsort(self.people, kind="stable")
            _, first, count = np.unique(self.people[order], return_index=True, return_counts=True)
            sizes = np.full(devices, samples)
            if spread is not None:
                shares = rng.lognormal(0.0, spread, devices)
                sizes = np.maximum(1, np.rint(samples * shares / shares.mean())).astype(np.int64)
            person = np.repeat(rng.integers(len(first), size=devices), sizes)
            rows = order[first[person] + rng.integers(count[person])]
            member = np.repeat(np.arange(devices), sizes)
        return replace(self.data.take(rows), person=member)


def hold_out(task: Task, samples: PilotSamples, seed: int = 0) -> Dataset:
    """Return samples as a task's devices see them, with one part of five as the test."""
    samples = replace(samples, x=task.terms.features.scaled_rows(samples.x))
    model, rng = task.terms.make_model(), np.random.default_rng(seed)
    test = choose_folds(samples.y, samples.people, model, rng) == 0
    return _data(task, samples, ~test, test)


def is_pilot_of(task: Task, pilot: PilotSamples) -> bool:
    """Decide by the number of rows whether the task's start was fitted to these rows."""
    start = task.terms.model.start
    return start is not None and start.rows == len(pilot.y)


def make_turns(task: Task, pilot: PilotSamples, seed: int) -> list[PilotTurn]:
    """Cut the pilot into five parts and make the five turns.

    In each turn one part is the test. If the task's start was fitted to these rows, two of the
    other four parts fit a start, and two are the crowd. Otherwise all four are the crowd, which
    starts from the task's start. Parts are whole people where there are at least five people, and
    otherwise rows.
    """
    if len(pilot.y) < FEWEST_ROWS:
        raise InvalidInput(
            f"a plan on a pilot needs at least {FEWEST_ROWS} rows, found {len(pilot.y)}."
        )
    model, own = task.terms.make_model(), is_pilot_of(task, pilot)
    x = task.terms.features.scaled_rows(pilot.x)
    pilot = replace(pilot, x=bound_rows(x, task.terms.mechanism().norm))
    rng = np.random.default_rng(seed)
    folds = choose_folds(pilot.y, pilot.people, model, rng)
    if own and model.n_classes and not _labels_everywhere(folds, pilot):
        folds = choose_folds(pilot.y, None, model, rng)
    return [_turn(task, model, pilot, (folds - turn) % TURNS, own, seed) for turn in range(TURNS)]


def _labels_everywhere(folds: Ints, pilot: PilotSamples) -> bool:
    """Decide whether any two neighbouring parts together have at least two labels."""
    beside = (np.isin(folds, (turn, (turn + 1) % TURNS)) for turn in range(TURNS))
    return all(len(np.unique(pilot.y[rows])) > 1 for rows in beside)


def _turn(
    task: Task, model: Model, pilot: PilotSamples, part: Ints, own: bool, seed: int
) -> PilotTurn:
    """Make the turn whose test is part 0."""
    start, regularization = _start(task), USUAL_REGULARIZATION
    regularization *= float(np.square(pilot.x).sum(axis=1).mean())
    if own:
        seen = pilot.take((part == 1) | (part == 2))
        fitted = fit_start(model, seen.x, seen.y, seen.people, seed=seed)
        rows = len(seen.y)
        start = StartPoint(tuple(fitted.w.tolist()), fitted.distance or None, rows, seen.n_people)
        regularization = fitted.regularization
    test, others = part == 0, part > 0
    data = _data(task, pilot, others, test)
    w = central_batch(model, data.x_train, data.y_train, regularization)
    errors = [error_rate(model, each, data.x_test, data.y_test) for each in (np.array(start.w), w)]
    crowd = part > 2 if own else others
    people = None if pilot.people is None else pilot.people[crowd]
    guess = guess_error(data, task.terms.model.tolerance)
    return PilotTurn(start, _data(task, pilot, crowd, test), people, guess, *errors)


def _data(task: Task, pilot: PilotSamples, train: Flags, test: Flags) -> Dataset:
    x, y, nobody = pilot.x, pilot.y, np.zeros(int(train.sum()), np.int64)
    return Dataset("pilot", task.terms.target.labels, x[train], y[train], nobody, x[test], y[test])


def _start(task: Task) -> StartPoint:
    """Return the task's own start."""
    assert task.start is not None
    said = task.terms.model.start
    rows, people = (said.rows, said.people) if said else (None, None)
    return StartPoint(tuple(task.start.w.tolist()), task.start.distance or None, rows, people)

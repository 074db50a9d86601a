"""Read a pilot's rows: readings by name, targets, and the person of each row."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from crowdml.errors import InvalidInput
from crowdml.phrase import Phrase
from crowdml.pilot.columns import (
    DroppedColumn,
    PilotColumn,
    cell_mistake,
    empty,
    read_column,
)
from crowdml.pilot.targets import FEWEST_OF_LABEL, PilotTargets, read_targets
from crowdml.protocol import listed
from crowdml.tables import Table, nearest_name, quoted, split_unit
from crowdml.types import Array, Ints

TARGET_HEADERS = ("label", "y", "class", "target")
PERSON_HEADERS = ("person", "user", "participant", "subject")
"""Usual names, in lower case, of the columns with y and with the person.

Devices look for other names, which `crowdml.tables` lists: public data often have a `class`."""


@dataclass(frozen=True)
class PilotRows:
    """Hold what was read from a pilot.

    Args:
        columns: The readings.
        target_name: The name of the column with the targets.
        targets: The targets.
        people: The number of each row's person; None where that is not known.
        findings: What was found, in sentences for the owner.
    """

    columns: tuple[PilotColumn, ...]
    target_name: str
    targets: PilotTargets
    people: Ints | None
    findings: tuple[Phrase, ...]

    @property
    def x(self) -> Array:
        """Return n×D readings in their own units, NaN where one is missing."""
        return np.column_stack([column.values for column in self.columns])

    @property
    def n_people(self) -> int | None:
        """Return the number of people; None where it is unknown."""
        return None if self.people is None else len(np.unique(self.people))

    def take(self, rows: Ints) -> "PilotRows":
        """Return some of the rows."""
        return replace(
            self,
            columns=tuple(each._replace(values=each.values[rows]) for each in self.columns),
            targets=replace(self.targets, y=self.targets.y[rows]),
            people=None if self.people is None else self.people[rows],
        )


def read_rows(table: Table, label: str | None = None, person: str | None = None) -> PilotRows:
    """Read the rows of a pilot.

    Args:
        table: The file.
        label: The column with the targets; by default `label`, `y`, `class`, `target` or the last.
        person: The column that says whose row each one is; by default `person`, `user`,
            `participant` or `subject`, if there is one.

    Raises:
        InvalidInput: The rows cannot be a pilot; the message has the line and the column.
    """
    owner = find_column(list(table.columns), person, PERSON_HEADERS)
    others = [header for header in table.columns if header != owner]
    if not others:
        raise InvalidInput(
            Phrase("a pilot must have columns of numbers and of answers, found none.")
        )
    target = find_column(others, label, TARGET_HEADERS) or others[-1]
    targets = read_targets(table, target)
    rows = np.flatnonzero(targets.kept).tolist()
    read = [read_column(table, header, rows) for header in others if header != target]
    columns = _named([each for each in read if isinstance(each, PilotColumn)])
    dropped = [each for each in read if isinstance(each, DroppedColumn)]
    if not columns or len(rows) < len(columns):
        raise InvalidInput(
            Phrase(
                "a pilot must have a column of numbers and at least as many rows as columns, found "
                "{columns} columns and {n} rows.",
                columns=len(columns),
                n=len(rows),
            )
        )
    people, about_people = read_people(table, owner, rows)
    findings = (_about(target, targets), *about_people, *_left_out(dropped, targets, columns))
    kept = PilotTargets(targets.labels, targets.y[targets.kept])
    return PilotRows(tuple(columns), split_unit(target)[0], kept, people, findings)


def find_column(headers: list[str], said: str | None, usual: Sequence[str]) -> str | None:
    """Return the named column, or the first with a usual name; None where there is none."""
    names = {split_unit(header)[0]: header for header in headers} | {each: each for each in headers}
    if said is not None:
        if said not in names:
            raise InvalidInput(
                f"the pilot has no column {quoted(said)}.{nearest_name(said, list(names))}"
            )
        return names[said]
    lower = {name.lower(): header for name, header in names.items()}
    return next((lower[name] for name in usual if name in lower), None)


def _named(columns: list[PilotColumn]) -> list[PilotColumn]:
    """Add the unit to the names of columns that have the same name in several units."""
    times = Counter(column.name for column in columns)
    return [
        each if times[each.name] == 1 else each._replace(name=f"{each.name} [{each.unit}]")
        for each in columns
    ]


def read_people(
    table: Table, owner: str | None, rows: list[int]
) -> tuple[Ints | None, list[Phrase]]:
    """Return the person of each row, None where unknown, and what was found."""
    if owner is None:
        return None, [
            Phrase(
                "No column says whose row each one is, so rows are taken to be independent. If "
                "there is such a column, name it by --person: the error is then a more honest one."
            )
        ]
    missing = next((row for row in rows if empty(table[owner][row])), None)
    if missing is not None:
        raise cell_mistake(table, missing, owner, Phrase("must have a person in every row"))
    names = np.array([str(table[owner][row]).strip() for row in rows])
    found, people = np.unique(names, return_inverse=True)
    n, column = len(found), quoted(owner)
    if n == len(names):
        return None, [
            Phrase(
                "{column} has another person in every row, so rows are taken to be independent.",
                column=column,
            )
        ]
    if n == 1:
        return people.astype(np.int64), [
            Phrase(
                "{column} names one person, whose rows cannot show how others differ.",
                column=column,
            )
        ]
    return people.astype(np.int64), [Phrase("{column} names {n} people.", column=column, n=n)]


def _about(target: str, targets: PilotTargets) -> Phrase:
    n, column = int(targets.kept.sum()), quoted(target)
    if not targets.labels:
        return Phrase(
            "{n} rows; {column} is a number to predict, from {least} to {most}.",
            n=n,
            column=column,
            least=float(targets.y.min()),
            most=float(targets.y.max()),
        )
    counts = np.bincount(targets.y[targets.kept].astype(int))
    labels = [
        Phrase("{label} ({n})", label=label, n=int(rows))
        for label, rows in zip(targets.labels, counts, strict=True)
    ]
    return Phrase(
        "{n} rows; the labels in {column} are {labels}.",
        n=n,
        column=column,
        labels=listed(labels, "and"),
    )


def _left_out(
    dropped: list[DroppedColumn], targets: PilotTargets, columns: list[PilotColumn]
) -> list[Phrase]:
    sentences = [
        Phrase("The column {column} is left out: {reason}.", column=quoted(name), reason=reason)
        for name, reason in dropped
    ]
    sentences += [
        Phrase(
            "The label {label} is left out with its rows: it has {n}, and needs {least}.",
            label=quoted(label),
            n=rows,
            least=FEWEST_OF_LABEL,
        )
        for label, rows in targets.rare
    ]
    sentences += [
        Phrase(
            "Empty cells in {column}: {n}. Devices take an empty value to be the column's center.",
            column=quoted(column.name),
            n=n,
        )
        for column in columns
        if (n := int(np.isnan(column.values).sum()))
    ]
    return sentences

"""Read the rows of a pilot as a task's devices would."""

from dataclasses import dataclass

import numpy as np

from crowdml.errors import InvalidInput
from crowdml.pilot.rows import PERSON_HEADERS, TARGET_HEADERS, find_column, read_people
from crowdml.protocol import Terms
from crowdml.tables import Table, check_columns, split_unit
from crowdml.types import Array, Flags, Ints


@dataclass(frozen=True, eq=False)
class PilotSamples:
    """Hold a pilot's rows in the order of a task's columns and labels.

    Args:
        x: n×D readings in their own units, NaN where one is missing.
        y: The number of each row's label, or the number to be predicted.
        people: The person of each row; None where that is not known.
    """

    x: Array
    y: Array
    people: Ints | None = None

    @property
    def n_people(self) -> int | None:
        """Return the number of people; None where it is unknown."""
        return None if self.people is None else len(np.unique(self.people))

    def take(self, rows: Flags | Ints) -> "PilotSamples":
        """Return some of the rows."""
        people = None if self.people is None else self.people[rows]
        return PilotSamples(self.x[rows], self.y[rows], people)


def read_samples(
    table: Table, terms: Terms, label: str | None = None, person: str | None = None
) -> PilotSamples:
    """Read the columns of a task by name, or in their order where the file has no names.

    Rows with a label that the task does not have are left out.

    Args:
        label: The column with the targets; by default `label`, `y`, `class`, `target` or the last.
        person: The column that says whose row each one is; by default `person`, `user`,
            `participant` or `subject`, if there is one.

    Raises:
        InvalidInput: A column is missing, or a cell is not what the task needs.
    """
    owner = find_column(list(table.columns), person, PERSON_HEADERS)
    headers = [header for header in table.columns if header != owner]
    by_name = {split_unit(each)[0]: each for each in headers} | {each: each for each in headers}
    wrong = check_columns(terms.features.column_names, by_name)
    if wrong and terms.features.names:
        raise InvalidInput(f"{table.name} must have the columns of the task: {wrong}")
    columns = [] if wrong else [by_name[name] for name in terms.features.column_names]
    free = [header for header in headers if header not in columns]
    target = find_column(free, label, TARGET_HEADERS) or next(reversed(free), None)
    columns = columns or [header for header in headers if header != target]
    if target is None or len(columns) != terms.features.count:
        raise InvalidInput(
            f"{table.name} must have the task's {terms.features.count} features and a column with "
            f"the answers, found {len(headers)} columns."
        )
    y = _targets(table, target, terms.target.labels)
    rows = np.flatnonzero(~np.isnan(y))
    people, _ = read_people(table, owner, rows.tolist())
    x = np.column_stack([table.numbers(header)[rows] for header in columns])
    return PilotSamples(x, y[rows], people)


def _targets(table: Table, target: str, labels: tuple[str, ...]) -> Array:
    """Return the number of each row's label, NaN if the task does not have it; or the numbers."""
    if not labels:
        return table.numbers(target)
    place = {label: float(number) for number, label in enumerate(labels)}
    y = np.array([place.get(str(cell).strip(), np.nan) for cell in table[target]])
    if np.isnan(y).all():
        raise table.mistake(0, target, f"must be a label of the task, {', '.join(labels)}")
    return y

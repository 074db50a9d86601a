"""Read samples of the user's own from a CSV file."""

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from crowdml.errors import InvalidInput
from crowdml.tables import Table, read_table, separators
from crowdml.types import Array

PERSON_HEADERS = ("person", "user")


def read_csv_samples(path: Path) -> tuple[Array, npt.NDArray[Any], npt.NDArray[Any] | None]:
    """Read features, the last column as numbers or text, and the person of each line, if given."""
    table = read_table(path)
    owner = next((name for name in table.columns if name.lower() in PERSON_HEADERS), None)
    *features, target = [name for name in table.columns if name != owner] or [""]
    if not features:
        raise InvalidInput(
            f"{path} must have a feature and a label, found {len(target and [target])} columns."
            + separators([str(cells[0]) for cells in table.columns.values()])
        )
    x = np.column_stack([_complete(table, name) for name in features])
    y = _complete(table, target) if table.is_numeric(target) else np.array(table[target])
    person = None if owner is None else np.array(table[owner])
    return x, y, person


def _complete(table: Table, column: str) -> Array:
    """Return the numbers of a column in which none is missing."""
    numbers = table.numbers(column)
    if np.isnan(numbers).any():
        row = int(np.isnan(numbers).argmax())
        rule = "must be a finite number (leave out lines with missing values)"
        raise table.mistake(row, column, rule)
    return numbers

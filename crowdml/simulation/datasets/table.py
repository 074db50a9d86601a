"""Reading a table of samples from a CSV file."""

import csv
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from crowdml.errors import InvalidInput
from crowdml.types import Array

__all__ = ["read_table"]

PERSON = ("person", "user")

Line = tuple[int, list[str]]
"""Where it stands in the file, and its cells."""


def read_table(path: Path) -> tuple[Array, npt.NDArray[Any], npt.NDArray[Any] | None]:
    """Features, the last column as numbers or as text, and whose each line is, if that is said."""
    lines = _lines(path)
    header = [cell.strip().lower() for cell in lines[0][1]]
    if any(_is_number(cell) for cell in header[:-1]):
        header = [""] * len(header)
    else:
        lines = lines[1:]
    if not lines:
        raise InvalidInput(f"{path} must have at least one line of values, found only names.")
    owner = next((k for k, name in enumerate(header) if name in PERSON), None)
    columns = [k for k in range(len(header)) if k != owner]
    if len(columns) < 2:
        raise InvalidInput(f"{path} must have a feature and a label, found {len(columns)} columns.")
    x = np.array([[_number(path, line, k) for k in columns[:-1]] for line in lines])
    y = _text_or_numbers([cells[columns[-1]].strip() for _, cells in lines])
    person = None if owner is None else np.array([cells[owner].strip() for _, cells in lines])
    return x, y, person


def _lines(path: Path) -> list[Line]:
    """The lines that are not empty, all of them equally long."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            reader = csv.reader(file)
            lines = [(reader.line_num, cells) for cells in reader if cells]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InvalidInput(f"{path} cannot be read as a .csv file: {error}") from error
    if not lines:
        raise InvalidInput(f"{path} must have at least one line of values, found none.")
    width = len(lines[0][1])
    for number, cells in lines:
        if len(cells) != width:
            raise InvalidInput(
                f"{path}, line {number}: must have {width} columns as the first line has, "
                f"found {len(cells)}."
            )
    return lines


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _number(path: Path, line: Line, column: int) -> float:
    number, cells = line
    try:
        return float(cells[column])
    except ValueError:
        raise InvalidInput(
            f"{path}, line {number}, column {column + 1}: a feature must be a number, "
            f"found {cells[column]!r}. Leave out lines with missing values."
        ) from None


def _text_or_numbers(cells: list[str]) -> npt.NDArray[Any]:
    """As numbers if all of them are, otherwise as they stand."""
    if all(_is_number(cell) for cell in cells):
        return np.array([float(cell) for cell in cells])
    return np.array(cells)

"""Reading a table of samples from a CSV file."""

import csv
import math
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from crowdml.device import is_number, quoted, separators
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
    if any(map(is_number, header[:-1])):
        header = [""] * len(header)
    else:
        lines = lines[1:]
    if not lines:
        raise InvalidInput(f"{path} must have at least one line of values, found only names.")
    owner = next((k for k, name in enumerate(header) if name in PERSON), None)
    columns = [k for k in range(len(header)) if k != owner]
    if len(columns) < 2:
        raise InvalidInput(
            f"{path} must have a feature and a label, found {len(columns)} columns."
            + separators(lines[0][1])
        )
    x = np.array([[_number(path, line, k) for k in columns[:-1]] for line in lines])
    y = _text_or_numbers(path, lines, columns[-1])
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
                f"found {len(cells)}.{separators(cells)}"
            )
    return lines


def _number(path: Path, line: Line, column: int) -> float:
    number, cells = line
    cell = cells[column]
    if not is_number(cell) or not math.isfinite(float(cell)):
        raise InvalidInput(
            f"{path}, line {number}, column {column + 1}: must be a finite number, "
            f"found {quoted(cell)}. Leave out lines with missing values.{separators(cells)}"
        )
    return float(cell)


def _text_or_numbers(path: Path, lines: list[Line], column: int) -> npt.NDArray[Any]:
    """As numbers if all of them are, otherwise as they stand."""
    cells = [cells[column].strip() for _, cells in lines]
    if all(map(is_number, cells)):
        return np.array([_number(path, line, column) for line in lines])
    return np.array(cells)

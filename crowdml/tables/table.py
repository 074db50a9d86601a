"""A whole file of samples as named columns: CSV, JSON lines or npz."""

import math
from collections import Counter
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from crowdml.errors import InvalidInput, InvalidSample
from crowdml.tables.arrays import read_arrays
from crowdml.tables.dialect import CsvDialect, guess_dialect, rows, separators
from crowdml.tables.names import missing_column, quoted
from crowdml.types import Array

__all__ = ["Table", "read_table"]

USUAL = CsvDialect()


@dataclass(frozen=True)
class Table:
    """Columns of equal length.

    Args:
        name: What errors call the file.
        columns: The cells of each column: texts of a CSV file, otherwise texts, numbers and None.
        lines: The line of each row in the file; rows are counted from 0 in an npz file.
        dialect: How a CSV file is written.
        named: Whether the file names its columns; otherwise they are x0, x1, … and y.
    """

    name: str
    columns: dict[str, list[Any]]
    lines: list[int]
    dialect: CsvDialect = USUAL
    named: bool = True

    def __getitem__(self, column: str) -> list[Any]:
        if column not in self.columns:
            raise InvalidInput(f"{self.name}: {missing_column(column, list(self.columns))}")
        return self.columns[column]

    def value(self, cell: Any) -> float | None:
        """Return the number in a cell, None if it is missing; `ValueError` for anything else."""
        if isinstance(cell, str):
            return self.dialect.number(cell)
        if cell is None:
            return None
        if not isinstance(cell, int | float) or math.isinf(cell):
            raise ValueError(cell)
        return None if math.isnan(cell) else float(cell)

    def is_numeric(self, column: str) -> bool:
        """Tell whether every cell of a column is a number, which may be nan or inf, or missing."""
        return all(
            not cell or self.dialect.is_number(cell)
            if isinstance(cell, str)
            else cell is None or isinstance(cell, int | float)
            for cell in self[column]
        )

    def numbers(self, column: str) -> Array:
        """Return the numbers of a column, NaN where one is missing.

        Raises:
            InvalidInput: A cell is not a number; the error names its line, column and value.
        """
        found = np.full(len(self.lines), np.nan)
        for k, cell in enumerate(self[column]):
            try:
                value = self.value(cell)
            except (ValueError, OverflowError):
                raise self.mistake(k, column, "must be a finite number") from None
            found[k] = np.nan if value is None else value
        return found

    def mistake(self, row: int, column: str, rule: str) -> InvalidInput:
        """Return the error that a cell breaks a rule."""
        cell = self[column][row]
        found = quoted(cell) + "." + separators([str(cell)])
        return InvalidInput(
            f"{self.name}, line {self.lines[row]}, column {quoted(column)}: {rule}, found {found}"
        )


def read_table(path: Path, dialect: CsvDialect | None = None, most: int | None = None) -> Table:
    """Read a .csv, .jsonl (or .json) or .npz file.

    Args:
        dialect: How a CSV file is written, where its first line does not show it.
        most: The most rows that a file may have.
    """
    if path.suffix == ".npz":
        return _limited(_from_arrays(path), most)
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            lines = list(file if most is None else islice(file, 2 * most + 100))
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{path} cannot be read as a .csv file: {error}") from error
    first = next((line for line in lines if line.strip()), "")
    if first.lstrip().startswith("{"):
        return _limited(_from_json(path, lines), most)
    return _limited(_from_csv(path, lines, dialect or guess_dialect(first)), most)


def _limited(table: Table, most: int | None) -> Table:
    if not table.lines:
        raise InvalidInput(f"{table.name} must have at least one line of values, found none.")
    if most is not None and len(table.lines) > most:
        raise InvalidInput(f"{table.name} must have at most {most:,} rows, found more.")
    return table


def _from_csv(path: Path, lines: list[str], dialect: CsvDialect) -> Table:
    found: list[tuple[int, list[str]]] = []
    for number, row in rows(lines, 1, dialect=dialect):
        if isinstance(row, InvalidSample):
            raise InvalidInput(f"{path} cannot be read as a .csv file: {row}")
        if any(cell.strip() for cell in row):
            found.append((number, row))
    header = [cell.strip() for cell in found[0][1]] if found else []
    named = not any(map(dialect.is_number, header[:-1]))
    if named:
        found = found[1:]
    else:
        header = [*(f"x{k}" for k in range(len(header) - 1)), "y"]
    _require_different(path, header)
    for number, row in found:
        if len(row) != len(header):
            raise InvalidInput(
                f"{path}, line {number}: must have {len(header)} columns as the first line has, "
                f"found {len(row)}.{separators(row)}"
            )
    columns = {name: [row[k].strip() for _, row in found] for k, name in enumerate(header)}
    return Table(str(path), columns, [number for number, _ in found], dialect, named)


def _from_json(path: Path, lines: list[str]) -> Table:
    """One object a line; a list in it is spread over columns: x0, x1, …"""
    found: list[tuple[int, dict[str, Any]]] = []
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                found.append((number, _spread(msgspec.json.decode(line, type=dict[str, Any]))))
            except (ValueError, RecursionError) as error:
                raise InvalidInput(
                    f"{path}, line {number}: must be a JSON object, found {quoted(line[:60])} "
                    f"({error})."
                ) from error
    names = dict.fromkeys(name for _, row in found for name in row)
    columns = {name: [row.get(name) for _, row in found] for name in names}
    return Table(str(path), columns, [number for number, _ in found])


def _spread(row: dict[str, Any]) -> dict[str, Any]:
    spread: dict[str, Any] = {}
    for name, value in row.items():
        if isinstance(value, list):
            spread |= {f"{name}{k}": entry for k, entry in enumerate(value)}
        else:
            spread |= value if isinstance(value, dict) else {name: value}
    return spread


def _from_arrays(path: Path) -> Table:
    """Arrays of one dimension are columns; one of two has them, named by the array `names`."""
    arrays = read_arrays(path, path)
    names = [str(name) for name in arrays.pop("names", np.array([])).ravel()]
    columns: dict[str, list[Any]] = {}
    for key, array in arrays.items():
        if array.ndim == 2:
            own = names if len(names) == array.shape[1] else None
            columns |= {
                own[k] if own else f"{key.lower()}{k}": array[:, k].tolist()
                for k in range(array.shape[1])
            }
        else:
            columns[key] = np.atleast_1d(array).ravel().tolist()
    lengths = {len(column) for column in columns.values()}
    if len(lengths) > 1:
        raise InvalidInput(
            f"{path} must have arrays with one entry for each row, found the lengths "
            f"{', '.join(map(str, sorted(lengths)))}."
        )
    return Table(str(path), columns, list(range(max(lengths, default=0))))


def _require_different(path: Path, header: list[str]) -> None:
    for name, times in Counter(header).most_common(1):
        if times > 1:
            raise InvalidInput(
                f"{path}: names of columns must differ from each other, found {quoted(name)} twice."
            )

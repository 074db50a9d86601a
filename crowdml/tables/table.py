"""Read a whole file of samples as named columns: CSV, JSON lines or npz."""

import io
import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from crowdml.errors import InvalidInput, InvalidSample
from crowdml.tables.arrays import read_arrays
from crowdml.tables.dialect import CsvDialect, guess_dialect, rows, separators
from crowdml.tables.names import missing_column, quoted
from crowdml.types import Array

USUAL = CsvDialect()


@dataclass(frozen=True)
class Table:
    """Hold columns of equal length.

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
        """Decide whether every cell of a column is missing or a number, which may be nan or inf."""
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


def read_table(
    source: Path | bytes,
    dialect: CsvDialect | None = None,
    most: int | None = None,
    name: str | None = None,
) -> Table:
    """Read a .csv, .jsonl (or .json) or .npz file.

    Args:
        source: The file, or its bytes.
        dialect: How a CSV file is written, where its first line does not show it.
        most: The most rows that a file may have; reading stops there.
        name: The file's name in errors; .npz is recognised by its ending.
    """
    name = str(source) if name is None else name
    if name.endswith(".npz"):
        return _limited(_from_arrays(source, name), most)
    if isinstance(source, Path) and source.exists() and not source.is_file():
        raise InvalidInput(f"{name} must be a file, found a folder, a pipe or a device.")
    try:
        opened = source.open("rb") if isinstance(source, Path) else io.BytesIO(source)
        with io.TextIOWrapper(opened, encoding="utf-8-sig", newline="") as file:
            first = next((line for line in file if line.strip()), "")
            file.seek(0)
            if first.lstrip().startswith("{"):
                return _limited(_from_json(name, file, most), most)
            return _limited(_from_csv(name, file, dialect or guess_dialect(first), most), most)
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or error
        raise InvalidInput(f"{name} cannot be read as a .csv file: {why}.") from error


def _limited(table: Table, most: int | None) -> Table:
    if not table.lines:
        raise InvalidInput(f"{table.name} must have at least one line of values, found none.")
    if most is not None and len(table.lines) > most:
        raise InvalidInput(f"{table.name} must have at most {most:,} rows, found more.")
    return table


def _from_csv(name: str, lines: Iterable[str], dialect: CsvDialect, most: int | None) -> Table:
    found: list[tuple[int, list[str]]] = []
    for number, row in rows(lines, 1, dialect=dialect):
        if isinstance(row, InvalidSample):
            raise InvalidInput(f"{name} cannot be read as a .csv file: {row}")
        if any(cell.strip() for cell in row):
            found.append((number, row))
        if most is not None and len(found) > most + 1:
            break
    header = [cell.strip() for cell in found[0][1]] if found else []
    named = not any(map(dialect.is_number, header[:-1]))
    if named:
        found = found[1:]
    else:
        header = [*(f"x{k}" for k in range(len(header) - 1)), "y"]
    _require_different(name, header)
    for number, row in found:
        if len(row) != len(header):
            raise InvalidInput(
                f"{name}, line {number}: must have {len(header)} columns as the first line has, "
                f"found {len(row)}.{separators(row)}"
            )
    columns = {column: [row[k].strip() for _, row in found] for k, column in enumerate(header)}
    return Table(name, columns, [number for number, _ in found], dialect, named)


def _from_json(name: str, lines: Iterable[str], most: int | None) -> Table:
    """Read one object per line; a list in it becomes the columns x0, x1, …"""
    found: list[tuple[int, dict[str, Any]]] = []
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                found.append((number, _spread(msgspec.json.decode(line, type=dict[str, Any]))))
            except (ValueError, RecursionError) as error:
                raise InvalidInput(
                    f"{name}, line {number}: must be a JSON object, found {quoted(line[:60])} "
                    f"({error})."
                ) from error
        if most is not None and len(found) > most:
            break
    names = dict.fromkeys(each for _, row in found for each in row)
    columns = {each: [row.get(each) for _, row in found] for each in names}
    return Table(name, columns, [number for number, _ in found])


def _spread(row: dict[str, Any]) -> dict[str, Any]:
    spread: dict[str, Any] = {}
    for name, value in row.items():
        if isinstance(value, list):
            spread |= {f"{name}{k}": entry for k, entry in enumerate(value)}
        else:
            spread |= value if isinstance(value, dict) else {name: value}
    return spread


def _from_arrays(source: Path | bytes, name: str) -> Table:
    """Read 1-d arrays as columns, and a 2-d array as the columns that the array `names` names."""
    arrays = read_arrays(source, name)
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
            f"{name} must have arrays with one entry for each row, found the lengths "
            f"{', '.join(map(str, sorted(lengths)))}."
        )
    return Table(name, columns, list(range(max(lengths, default=0))))


def _require_different(file: str, header: list[str]) -> None:
    for name, times in Counter(header).most_common(1):
        if times > 1:
            raise InvalidInput(
                f"{file}: names of columns must differ from each other, found {quoted(name)} twice."
            )

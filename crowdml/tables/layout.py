"""Find the columns with the readings and y by the names in a file's first line."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from crowdml.errors import InvalidInput, InvalidSample
from crowdml.tables.dialect import CsvDialect
from crowdml.tables.names import check_columns, missing_column, quoted, split_unit

TARGET_HEADERS = ("y", "label", "target", "answer")
"""Usual names of the column with y, a label or a number."""


@dataclass(frozen=True)
class CsvLayout:
    """Hold the positions of named columns in the rows of a CSV file.

    Args:
        dialect: How the file is written.
        header: The names of all its columns.
        names: The columns to read.
        target: The column with y, None if there is none.
    """

    dialect: CsvDialect
    header: tuple[str, ...]
    names: tuple[str, ...]
    target: str | None

    @property
    def ignored(self) -> list[str]:
        """Return the columns that are not read."""
        read = {*self.names, self.target}
        return [name for name in self.header if name not in read]

    def take(self, row: list[str]) -> tuple[list[float | None], str]:
        """Return the readings of a row in the order of the names, and the cell of y."""
        if len(row) != len(self.header):
            raise InvalidSample(
                f"expected {len(self.header)} columns as in the first line, found {len(row)}."
            )
        cells = dict(zip(self.header, row, strict=True))
        y = cells[self.target].strip() if self.target is not None else ""
        return [self._number(name, cells[name]) for name in self.names], y

    def _number(self, name: str, cell: str) -> float | None:
        try:
            return self.dialect.number(cell)
        except ValueError:
            raise InvalidSample(
                f"column {quoted(name)} must be a finite number, found {quoted(cell)}."
            ) from None


def find_layout(
    names: Sequence[str], first: str, dialect: CsvDialect, label: str | None, last: bool
) -> CsvLayout:
    """Find columns by their names in the first line of a file.

    Args:
        names: The columns that must be there.
        first: The line.
        label: The name of the column with y, if it is known.
        last: Whether the last column is y where none has a usual name for it.
    """
    header = [_without_unit(cell, names) for cell in dialect.split(first)]
    wrong = check_columns(names, header)
    twice = [name for name in names if header.count(name) > 1]
    if twice and not wrong:
        wrong = f"{quoted(twice[0])} is there twice."
    if wrong:
        raise InvalidInput(f"the first line must name the columns of the task: {wrong}")
    target = target_header(names, header, label)
    if target is None and last:
        if header[-1] in names:
            raise InvalidInput(
                "a file must have a column with the answer, found none. Name it y or label."
            )
        target = header[-1]
    return CsvLayout(dialect, tuple(header), tuple(names), target)


def _without_unit(header: str, names: Sequence[str]) -> str:
    """Return the name in a header such as `light [lux]`, where the task's column is `light`."""
    name = split_unit(header)[0]
    return name if header not in names and name in names else header


def target_header(names: Iterable[str], found: Sequence[str], label: str | None) -> str | None:
    """Return the name of the column with y; None if no column has a usual name for it."""
    if label is not None:
        if label not in found:
            raise InvalidInput(f"the column of the answer: {missing_column(label, found)}")
        return label
    taken = set(names)
    free = {name.lower(): name for name in reversed(found) if name not in taken}
    return next((free[usual] for usual in TARGET_HEADERS if usual in free), None)

"""Read the columns of a pilot, and say why some of them are not readings to learn from."""

import math
import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from crowdml.errors import InvalidInput
from crowdml.phrase import Phrase
from crowdml.tables import Table, is_number, quoted, split_unit
from crowdml.types import Array
from crowdml.visible import visible

ID_WORDS = {"id", "uuid", "guid"}
COUNTER_WORDS = {"", "index", "row", "nr", "unnamed"}
TIME_WORDS = {"time", "timestamp", "date", "datetime", "ts", "epoch"}
"""Words of a column's name, in lower case: the last word, the first one and any of them."""

TIME_STAMP = re.compile(r"\d{1,4}([-./])\d{1,2}\1\d{1,4}([ T].*)?|\d{1,2}:\d{2}(:\d{2}.*)?")
NAME_WORDS = re.compile(r"[A-Z]?[^\W_A-Z]+|[A-Z]+")

LEAST_TIME = 1e7
"""Seconds since 1970 and dates such as 20260131 are larger."""


class PilotColumn(NamedTuple):
    """Hold readings of one kind: name, unit if the header gives one, NaN where missing."""

    name: str
    unit: str
    values: Array


class DroppedColumn(NamedTuple):
    """Name a column that is not used, and the reason."""

    name: str
    reason: Phrase


def read_column(table: Table, header: str, rows: Sequence[int]) -> PilotColumn | DroppedColumn:
    """Read the numbers of a column, or say why the column is dropped.

    Args:
        table: The pilot.
        header: The column's name, with its unit if there is one: `light [lux]`.
        rows: The rows to read.

    Raises:
        InvalidInput: A cell is neither empty nor a finite number.

    >>> pilot = Table("a.csv", {"light [lux]": ["300", "", "75"], "floor": ["2"] * 3}, [2, 3, 4])
    >>> read_column(pilot, "light [lux]", range(3))
    PilotColumn(name='light', unit='lux', values=array([300.,  nan,  75.]))
    >>> str(read_column(pilot, "floor", range(3)).reason)
    'always 2'
    """
    name, unit = split_unit(header)
    cells = [table[header][row] for row in rows]
    numbers = [number_in(table, cell) for cell in cells]
    words = [word.lower() for word in NAME_WORDS.findall(name)] or [""]
    wrong = next((row for row, number in enumerate(numbers) if number is None), None)
    values = np.array([math.nan if number is None else number for number in numbers])
    reason = _reason(words, cells, values if wrong is None else None)
    if reason is not None:
        return DroppedColumn(header, reason)
    if wrong is not None:
        must = Phrase("must be a finite number, or empty")
        raise cell_mistake(table, rows[wrong], header, must)
    return PilotColumn(name, unit, values)


def number_in(table: Table, cell: object) -> float | None:
    """Return the finite number in a cell, NaN for an empty cell, None for anything else."""
    if empty(cell):
        return math.nan
    try:
        return table.value(cell)
    except (ValueError, OverflowError):
        return None


def empty(cell: object) -> bool:
    """Decide whether a cell has no value."""
    return cell is None or (isinstance(cell, str) and not cell.strip())


def cell_mistake(table: Table, row: int, header: str, must: Phrase) -> InvalidInput:
    """Return the error that a cell breaks a rule, with its line and column."""
    cell = table[header][row]
    return InvalidInput(
        Phrase(
            "{file}, line {line}, column {column}: {must}, found {found}.",
            file=visible(table.name),
            line=table.lines[row],
            column=quoted(header),
            must=must,
            found=Phrase("none") if empty(cell) else quoted(cell),
        )
    )


def _reason(words: list[str], cells: Sequence[object], values: Array | None) -> Phrase | None:
    """Return the reason to drop a column, if any; `values` are None where cells are texts."""
    given = [str(cell).strip() for cell in cells if not empty(cell)]
    different = len(set(given))
    if not given:
        return Phrase("empty")
    if different == 1 or (values is not None and np.nanmin(values) == np.nanmax(values)):
        return Phrase("always {value}", value=given[0])
    if values is None and all(TIME_STAMP.fullmatch(text) for text in given):
        return Phrase("time stamps")
    if values is None and different == len(given) and not any(map(is_number, given)):
        return Phrase("an id: a text that no two rows share")
    if words[-1] in ID_WORDS and (values is None or _whole(values)):
        return Phrase("an id")
    return None if values is None else _reason_of_numbers(words, values)


def _reason_of_numbers(words: list[str], values: Array) -> Phrase | None:
    steps = np.diff(values)
    if words[0] in COUNTER_WORDS and _whole(values) and (steps > 0).all():
        return Phrase("it counts the rows")
    if len(steps) >= 9 and (steps == 1).all():
        return Phrase("it counts the rows")
    if TIME_WORDS.intersection(words) and (np.nanmin(values) >= LEAST_TIME or (steps > 0).all()):
        return Phrase("time stamps")
    return None


def _whole(values: Array) -> bool:
    return bool((np.isnan(values) | (values == np.floor(values))).all())

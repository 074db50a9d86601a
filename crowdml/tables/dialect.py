"""Recognise how a CSV file separates its columns and writes its numbers."""

import csv
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from crowdml.errors import InvalidInput, InvalidSample

SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs"}
DECIMALS = {".": "points", ",": "commas", "": "points or commas"}


@dataclass(frozen=True)
class CsvDialect:
    """Hold the sign that separates columns, and the sign before decimals.

    Args:
        delimiter: A comma, a semicolon or a tab.
        decimal: A point or a comma; either one if empty.

    >>> CsvDialect(";", ",").number(" 21,5")
    21.5
    >>> print(CsvDialect(";", ""))
    columns are separated by semicolons, decimals by points or commas
    """

    delimiter: str = ","
    decimal: str = "."

    def __str__(self) -> str:
        columns, decimals = SEPARATORS[self.delimiter], DECIMALS[self.decimal]
        return f"columns are separated by {columns}, decimals by {decimals}"

    def number(self, cell: str) -> float | None:
        """Return the number in a cell, None if the cell is empty; `ValueError` for anything else.

        Not a number (nan) is missing, too.
        """
        text = cell.strip()
        if self.decimal != "." and "," in text and "." not in text:
            text = text.replace(",", ".")
        elif self.decimal == "," and "." in text:
            raise ValueError(f"a point in {cell!r}")
        value = _float(text) if text else math.nan
        if math.isinf(value):
            raise ValueError(f"{cell!r} is not finite")
        return None if math.isnan(value) else value

    def with_point(self, cell: str) -> str:
        """Return the cell, with a decimal point if it is a number."""
        return cell.replace(",", ".") if self.decimal != "." and self.is_number(cell) else cell

    def is_number(self, cell: str) -> bool:
        """Decide whether a cell holds a number, which may be infinite or nan."""
        text = cell.replace(",", ".") if self.decimal != "." else cell
        return is_number(text)

    def split(self, line: str) -> list[str]:
        """Return the cells of one line, without the spaces around them; none if it is not CSV."""
        try:
            return [cell.strip() for cell in next(csv.reader([line], delimiter=self.delimiter), [])]
        except csv.Error:
            return []


def guess_dialect(first: str) -> CsvDialect:
    """Return the dialect that a line of column names shows; the usual one for any other line.

    >>> guess_dialect("light;warmth;label").delimiter, guess_dialect("0,5;0,25").delimiter
    (';', ',')
    """
    guesses = [CsvDialect(), CsvDialect(";", ""), CsvDialect("\t", "")]
    best = max(guesses, key=lambda guess: len(guess.split(first)))
    named = not any(map(best.is_number, best.split(first)[:-1]))
    return best if named else CsvDialect()


def read_dialect(text: str) -> CsvDialect:
    r"""Read what a person says about a CSV file: the separator, then the decimal sign.

    >>> read_dialect(";,")
    CsvDialect(delimiter=';', decimal=',')
    >>> read_dialect("tab")
    CsvDialect(delimiter='\t', decimal='.')
    """
    said = text.replace("tab", "\t").replace("\\t", "\t")
    delimiter, decimal = said[:1], said[1:] or "."
    if delimiter not in SEPARATORS or decimal not in (".", ",") or delimiter == decimal:
        raise InvalidInput(
            "--csv must be the sign between columns (, ; or tab), and then the decimal sign (. or "
            f",) unless it is a point, found {text!r}. Use --csv ';,' for 21,5;40."
        )
    return CsvDialect(delimiter, decimal)


def rows(
    lines: Iterable[str], start: int, plain: bool = False, dialect: CsvDialect | None = None
) -> Iterator[tuple[int, list[str] | InvalidSample]]:
    """List the rows of a CSV with their line numbers, or the reason why a line is not a row.

    Args:
        start: The number of the first one.
        plain: Whether quotes are characters like others, so that a row is always one line.
    """
    reader = csv.reader(
        lines,
        delimiter=(dialect or CsvDialect()).delimiter,
        quoting=csv.QUOTE_NONE if plain else csv.QUOTE_MINIMAL,
    )
    while True:
        try:
            row: list[str] | InvalidSample = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            row = InvalidSample(f"line {start - 1 + reader.line_num}: cannot be read: {error}.")
        yield start - 1 + reader.line_num, row


def is_number(field: str) -> bool:
    """Decide whether a cell holds a number."""
    try:
        _float(field)
    except ValueError:
        return False
    return True


def _float(text: str) -> float:
    """Read a number as every spreadsheet writes it; Python alone also reads 1_000 and １."""
    if "_" in text or not text.strip().isascii():
        raise ValueError(f"{text!r} is not a number")
    return float(text)


def separators(row: list[str]) -> str:
    """Suggest, in an error about a row, that its columns may be separated by another sign."""
    for character, name in ((";", "semicolons"), ("\t", "tabs")):
        if any(character in cell for cell in row):
            return (
                f" Columns are separated by commas, and these look like {name}: replace them, or "
                "name the columns in a first line."
            )
    return ""

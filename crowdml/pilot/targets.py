"""Read the targets in a pilot: labels by frequency, or numbers with their usual size."""

import re
from collections import Counter
from dataclasses import dataclass

import numpy as np

from crowdml.errors import InvalidInput
from crowdml.phrase import Phrase
from crowdml.pilot.columns import cell_mistake, empty, number_in
from crowdml.protocol import listed
from crowdml.tables import Table, quoted
from crowdml.types import Array, Flags

FEWEST_OF_LABEL = 5
"""Rows that a label must have: with fewer, a fold of the cross-validation has none of them."""

MOST_NUMBERED = 20
"""Whole numbers that differ more often than this are a quantity, not labels."""

MOST_NUMBER = 1_000_000_000
"""The largest `scale` of a target."""

WHOLE_NUMBER = re.compile(r"[+-]?\d+")


@dataclass(frozen=True)
class PilotTargets:
    """Hold the targets of a pilot's rows.

    Args:
        labels: From the most frequent to the rarest; none where the targets are numbers.
        y: The number of each row's label, or the row's number; NaN for a row that is left out.
        rare: The labels that are left out, with their rows.
    """

    labels: tuple[str, ...]
    y: Array
    rare: tuple[tuple[str, int], ...] = ()

    @property
    def kept(self) -> Flags:
        """Return which rows are kept."""
        kept: Flags = ~np.isnan(self.y)
        return kept

    @property
    def scale(self) -> float:
        """Return the usual distance of a number from the median, to two digits; 1 for labels."""
        if self.labels:
            return 1.0
        distance = np.sqrt(np.mean((self.y - np.median(self.y)) ** 2))
        return float(f"{distance:.1e}")

    @property
    def guess_error(self) -> float:
        """Return how often the most frequent label, or the median by half a scale, is wrong."""
        if self.labels:
            return float((self.y[self.kept] != 0).mean())
        return float((np.abs(self.y - np.median(self.y)) > self.scale / 2).mean())


def read_targets(table: Table, header: str) -> PilotTargets:
    """Read the targets: labels if they are texts or a few whole numbers, otherwise numbers.

    Raises:
        InvalidInput: A target is missing, labels differ in case alone, or fewer than two labels
            have five rows.

    >>> cells = {"vote": ["no", *["yes", "no"] * 5, "?"], "height": ["1.5", "2.25"] * 6}
    >>> pilot = Table("a.csv", cells, list(range(2, 14)))
    >>> targets = read_targets(pilot, "vote")
    >>> targets.labels, targets.y[:3], targets.rare
    (('no', 'yes'), array([0., 1., 0.]), (('?', 1),))
    >>> read_targets(pilot, "height").scale
    0.38
    """
    cells = table[header]
    missing = next((row for row, cell in enumerate(cells) if empty(cell)), None)
    if missing is not None:
        raise cell_mistake(table, missing, header, Phrase("must have an answer in every row"))
    texts = [str(cell).strip() for cell in cells]
    numbers = [number_in(table, cell) for cell in cells]
    whole = all(map(WHOLE_NUMBER.fullmatch, texts))
    if None not in numbers and not (whole and len(set(texts)) <= MOST_NUMBERED):
        return _numbers(table, header, np.array(numbers, dtype=np.float64))
    return _labels(table, header, texts)


def _numbers(table: Table, header: str, y: Array) -> PilotTargets:
    row = int(np.abs(y).argmax())
    if abs(y[row]) > MOST_NUMBER:
        must = Phrase("must be a number of at most {n}", n=MOST_NUMBER)
        raise cell_mistake(table, row, header, must)
    if y.min() == y.max():
        raise InvalidInput(
            Phrase(
                "a pilot must have more than one answer in the column {column}, found {found} only."
                " Name another column by --label.",
                column=quoted(header),
                found=float(y[0]),
            )
        )
    return PilotTargets((), y)


def _labels(table: Table, header: str, texts: list[str]) -> PilotTargets:
    counts = Counter(texts)
    _check_case(table, header, texts)
    common = [label for label, rows in counts.items() if rows >= FEWEST_OF_LABEL]
    rare = tuple((label, rows) for label, rows in counts.items() if rows < FEWEST_OF_LABEL)
    if len(common) < 2:
        found = listed(
            [Phrase("{n} of {label}", n=counts[each], label=quoted(each)) for each in common]
            or [Phrase("none")]
        )
        raise InvalidInput(
            Phrase(
                "a pilot must have two labels or more with at least {n} rows each in the column "
                "{column}, found {found}. Add rows, or name another column by --label.",
                n=FEWEST_OF_LABEL,
                column=quoted(header),
                found=found,
            )
        )
    labels = sorted(common, key=lambda label: (-counts[label], label))
    place = {label: float(number) for number, label in enumerate(labels)}
    return PilotTargets(tuple(labels), np.array([place.get(text, np.nan) for text in texts]), rare)


def _check_case(table: Table, header: str, texts: list[str]) -> None:
    first: dict[str, int] = {}
    for row, text in enumerate(texts):
        before = first.setdefault(text.casefold(), row)
        if texts[before] != text:
            must = Phrase(
                "must not differ in case alone from the label {other} on line {line}",
                other=quoted(texts[before]),
                line=table.lines[before],
            )
            raise cell_mistake(table, row, header, must)

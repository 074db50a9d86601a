"""Read samples from lines of CSV or from JSON objects, with columns by name or in order."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import msgspec

from crowdml.device.targets import label_or_number
from crowdml.errors import InvalidInput, InvalidSample
from crowdml.protocol import Features
from crowdml.tables import (
    CsvDialect,
    CsvLayout,
    check_columns,
    find_layout,
    guess_dialect,
    quoted,
    rows,
    separators,
    target_header,
)

Sample = tuple[list[float | None], str | float]
WrittenSample = tuple[list[float | None], object]
"""x, and y as it was written; None or an empty text if it is not known."""

EXPECTED_JSON = '{"x": [numbers], "y": label}'


@dataclass(frozen=True)
class SampleForm:
    """Describe how the samples of a task are written.

    Args:
        names: The task's names of columns; empty if columns are known by their order.
        may_miss: Whether a sample may lack a value.
        dialect: How CSV is written, if given; otherwise its first line shows it.
        label: The column with y, if given.
        requires_y: Whether every sample has a y; otherwise it may have one.
        count: The number of features, where samples may have no y.
        on_note: Called with how the source is read, and with each new name that is ignored.
    """

    names: tuple[str, ...] = ()
    may_miss: bool = False
    dialect: CsvDialect | None = None
    label: str | None = None
    requires_y: bool = True
    count: int = 0
    on_note: Callable[[str], None] = lambda note: None
    _ignored: set[str] = field(default_factory=set)

    @classmethod
    def of(
        cls,
        features: Features,
        dialect: CsvDialect | None = None,
        label: str | None = None,
        on_note: Callable[[str], None] = lambda note: None,
    ) -> "SampleForm":
        """Return the form in which samples of these features are written."""
        return cls(features.names, features.missing == "center", dialect, label, on_note=on_note)

    def read_csv(
        self,
        lines: Iterable[str],
        labels: Sequence[str] = (),
        start: int = 1,
        first: str | None = None,
    ) -> Iterator[Sample | InvalidSample]:
        """Read one sample a line, by name or in order: the features, then the label or target.

        >>> list(SampleForm().read_csv(["a,b,y", "0.5,0.25,walk"], labels=["still", "walk"]))
        [([0.5, 0.25], 'walk')]
        >>> by_name = SampleForm(names=("b", "a"))
        >>> list(by_name.read_csv(["a;y;b", "0,5;walk;0,25"], labels=["still", "walk"]))
        [([0.25, 0.5], 'walk')]
        """
        for number, found in self.rows_of_csv(lines, start, first):
            try:
                if isinstance(found, InvalidSample):
                    raise found
                yield found[0], label_or_number(found[1], labels)
            except InvalidSample as error:
                yield at_line(number, error)

    def rows_of_csv(
        self, lines: Iterable[str], start: int = 1, first: str | None = None
    ) -> Iterator[tuple[int, WrittenSample | InvalidSample]]:
        """Return each line with its number: x, and y as it was written, or the error."""
        lines = iter(lines)
        if first is None:
            first = next(lines, "")
            lines = chain([first], lines)
        dialect = self.dialect or guess_dialect(first)
        cells = dialect.split(first)
        numbers = any(map(dialect.is_number, cells[:-1] if self.requires_y else cells))
        header = not numbers and not separators(cells)
        layout = None
        if self.names and header and first.strip():
            layout = find_layout(self.names, first, dialect, self.label, last=self.requires_y)
        elif self.label:
            raise InvalidInput(
                "a column of the answer can be named where the task and the file name their "
                f"columns, found {quoted(self.label)}. Put the answer last, without --label."
            )
        self._note(dialect, layout)
        for number, row in rows(lines, start, dialect=dialect):
            if isinstance(row, InvalidSample):
                yield number, row
            elif row and not (number == 1 and header):
                try:
                    x, y = layout.take(row) if layout else self._in_order(row, dialect)
                    yield number, (self._complete(x), dialect.with_point(str(y)))
                except InvalidSample as error:
                    yield number, error

    def _in_order(self, row: list[str], dialect: CsvDialect) -> WrittenSample:
        if not self.requires_y and len(row) not in (self.count, self.count + 1):
            raise InvalidSample(
                f"expected {self.count} features, and the answer if it is known, found {len(row)} "
                "columns.",
                separators(row),
            )
        if len(row) == 1 and separators(row):
            raise InvalidSample(
                f"expected several columns, found {quoted(row[0])}.", separators(row)
            )
        *cells, y = row if self.requires_y or len(row) > self.count else [*row, ""]
        return [self._feature(cell, dialect, row) for cell in cells], y.strip()

    def _feature(self, cell: str, dialect: CsvDialect, row: list[str]) -> float | None:
        try:
            value = dialect.number(cell)
            if value is not None or self.may_miss:
                return value
        except ValueError:
            pass
        raise InvalidSample(
            f"features must be finite numbers, found {quoted(cell)}.", separators(row)
        )

    def _complete(self, x: list[float | None]) -> list[float | None]:
        """Check that a value is missing only where that is allowed, and return the values."""
        if self.names and not self.may_miss and None in x:
            name = self.names[x.index(None)]
            raise InvalidSample(f"column {quoted(name)} must be a finite number, found none.")
        return x

    def _note(self, dialect: CsvDialect, layout: CsvLayout | None) -> None:
        said = [] if dialect == CsvDialect() else [str(dialect)]
        if layout:
            where = f", the answer in {quoted(layout.target)}" if layout.target else ""
            said.append(f"columns are found by name{where}")
            if layout.ignored:
                said.append(f"ignored are {', '.join(map(quoted, layout.ignored))}")
        elif self.names:
            said.append(f"columns have no names: read in the order {', '.join(self.names)}")
        if said:
            self.on_note("; ".join(said))

    def read_json_lines(
        self, lines: Iterable[str], labels: Sequence[str] = (), start: int = 1
    ) -> Iterator[Sample | InvalidSample]:
        """Read one object a line.

        >>> list(SampleForm().read_json_lines(['{"x": [0.5, 0.25], "y": 1}']))
        [([0.5, 0.25], 1.0)]
        """
        for number, line in enumerate(lines, start):
            if not line.strip():
                continue
            try:
                yield self.read_json(line, labels)
            except InvalidSample as error:
                yield at_line(number, error)

    def read_json(self, text: str, labels: Sequence[str] = ()) -> Sample:
        """Read the sample of one object, `{"x": [0.5, 0.25], "y": 1}`, or by the task's names.

        >>> SampleForm(names=("b", "a")).read_json('{"a": 0.5, "b": 0.25, "y": 1}')
        ([0.25, 0.5], 1.0)
        """
        x, y = self.object_of_json(text)
        return x, label_or_number(y, labels)

    def object_of_json(self, text: str) -> WrittenSample:
        """Return x and y of one object; y is None where samples need none and it has none."""
        try:
            document = msgspec.json.decode(text, type=dict[str, Any])
            if self.names and not ("x" in document and "x" not in self.names):
                return self._by_name(document)
            label = self.label or "y"
            wrong = check_columns(["x", label] if self.requires_y else ["x"], document)
            if wrong:
                raise InvalidSample(f"expected {self._expected}, found {text[:60]!r}: {wrong}")
            x, y = document["x"], document.get(label)
            if self.names and isinstance(x, dict):
                return self._by_name(x | {"y": y})
            kind = list[float | None] if self.names or self.may_miss else list[float]
            return msgspec.convert(x, kind), y
        except (msgspec.DecodeError, RecursionError) as error:
            said = f"expected {self._expected}, found {text[:60]!r} ({error})."
            raise InvalidSample(said) from error

    @property
    def _expected(self) -> str:
        return EXPECTED_JSON if self.requires_y else '{"x": [numbers]}'

    def _by_name(self, document: dict[str, Any]) -> WrittenSample:
        wrong = check_columns(self.names, document)
        if wrong:
            raise InvalidSample(f"an object must have the names of the task: {wrong}")
        target = self.label or target_header(self.names, list(document), None)
        if self.requires_y and (target is None or target not in document):
            raise InvalidSample(f"an object must have the answer under {self.label or 'y'!r}.")
        new = set(document) - {*self.names, target} - self._ignored
        if new:
            self._ignored.update(new)
            self.on_note(f"ignored are {', '.join(map(quoted, sorted(new)))}")
        y = None if target is None else document.get(target)
        return self._complete([document[name] for name in self.names]), y


def at_line(number: int, error: InvalidSample | InvalidInput) -> InvalidSample:
    """Return the same error, with the number of its line."""
    said, hint = str(error), ""
    if isinstance(error, InvalidSample):
        said, hint = error.sentence, error.hint
    return InvalidSample(said if said.startswith("line ") else f"line {number}: {said}", hint)

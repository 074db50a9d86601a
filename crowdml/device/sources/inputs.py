"""Features to predict from, in the files that samples come in; answers may be missing."""

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from crowdml.device.sources.files import SourcePlace, opened, rows, starting
from crowdml.device.values import feature, is_number, separators, target_of
from crowdml.errors import InvalidInput, InvalidSample
from crowdml.privacy import check_target

__all__ = ["Input", "read_inputs"]

Input = tuple[list[float], float | None]
"""x, and y if it is known."""


def read_inputs(source: str, n_features: int, labels: Sequence[str] = ()) -> Iterator[Input]:
    """The lines of a CSV or JSON-lines file, or of standard input (`-`), one by one.

    Raises:
        InvalidSample: A line is none; the error says which.
    """
    with opened(source, SourcePlace(source)) as lines:
        is_json, lines = starting(lines)
        for number, row in enumerate(lines, 1) if is_json else rows(lines, 1):
            try:
                if isinstance(row, InvalidSample):
                    raise row
                if isinstance(row, str):
                    found = _from_json(row, labels)
                else:
                    found = _from_cells(row, n_features, labels, first=number == 1)
                if found and len(found[0]) != n_features:
                    raise InvalidSample(f"x must be {n_features} numbers, found {len(found[0])}.")
            except InvalidInput as error:
                raise InvalidSample(f"line {number}: {error}") from error
            if found:
                yield found


def _from_cells(
    row: list[str], n_features: int, labels: Sequence[str], first: bool
) -> Input | None:
    if not row:
        return None
    if len(row) not in (n_features, n_features + 1):
        raise InvalidSample(
            f"expected {n_features} features, and the answer if it is known, found {len(row)} "
            f"columns.{separators(row)}"
        )
    if first and not any(map(is_number, row)):
        return None
    x = [feature(cell) for cell in row[:n_features]]
    return x, _answer("".join(row[n_features:]).strip() or None, labels)


def _from_json(line: str, labels: Sequence[str]) -> Input | None:
    if not line.strip():
        return None
    try:
        document = msgspec.json.decode(line, type=dict[str, Any])
        x = msgspec.convert(document["x"], list[float])
    except (msgspec.DecodeError, KeyError, RecursionError) as error:
        found = f"{line[:60]!r} ({error})"
        raise InvalidSample(f'expected {{"x": [numbers]}}, found {found}.') from error
    return x, _answer(document.get("y"), labels)


def _answer(y: object, labels: Sequence[str]) -> float | None:
    return None if y is None else check_target(target_of(y, labels), len(labels))

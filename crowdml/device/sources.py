"""Where samples come from: CSV or JSON lines, from a file or standard input."""

import csv
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import IO, Any

import msgspec

from crowdml.errors import InvalidInput, InvalidSample

__all__ = [
    "Sample",
    "is_number",
    "opened",
    "read_csv",
    "read_json_lines",
    "read_source",
    "target_of",
]

Sample = tuple[list[float], float]


def read_source(source: str, labels: Sequence[str]) -> Iterator[Sample | InvalidSample]:
    """Samples from a `.csv` or `.jsonl` file, or from standard input (`-`, either kind).

    A label may be given by its name or its number. A line that is no sample comes out as the
    error that says why, so that the reader can go on after it.
    """
    with opened(source) as lines:
        first = next(iter(lines), "")
        is_json = first.lstrip().startswith(("{", "["))
        read = read_json_lines if is_json else read_csv
        yield from read(_chain(first, lines), labels)


@contextmanager
def opened(source: str) -> Iterator[Iterable[str]]:
    """The lines of a file, or of standard input (`-`)."""
    with nullcontext(sys.stdin) if source == "-" else _open(source) as lines:
        try:
            yield lines
        except UnicodeDecodeError as error:
            raise InvalidSample(f"the source {source!r} must be UTF-8 text: {error}.") from error


def read_csv(lines: Iterable[str], labels: Sequence[str] = ()) -> Iterator[Sample | InvalidSample]:
    """One sample a line: the features, then the label or target. A first line of names is skipped.

    >>> list(read_csv(["a,b,y", "0.5,0.25,walk"], labels=["still", "walk"]))
    [([0.5, 0.25], 1.0)]
    """
    for number, row in enumerate(csv.reader(lines), start=1):
        if not row or (number == 1 and _is_header(row)):
            continue
        *features, target = row
        try:
            x = [_feature(value) for value in features]
            yield x, target_of(target.strip(), labels)
        except ValueError as error:
            yield InvalidSample(f"line {number}: {error}")


def read_json_lines(
    lines: Iterable[str], labels: Sequence[str] = ()
) -> Iterator[Sample | InvalidSample]:
    """One object a line, `{"x": [...], "y": ...}`.

    >>> list(read_json_lines(['{"x": [0.5, 0.25], "y": 1}']))
    [([0.5, 0.25], 1.0)]
    """
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            document = msgspec.json.decode(line, type=dict[str, Any])
            x = msgspec.convert(document["x"], list[float])
            yield x, target_of(document["y"], labels)
        except (msgspec.DecodeError, KeyError, RecursionError) as error:
            yield InvalidSample(
                f'line {number}: expected {{"x": [numbers], "y": label}}, found {line[:60]!r} '
                f"({error})."
            )
        except ValueError as error:
            yield InvalidSample(f"line {number}: {error}")


def _feature(value: str) -> float:
    try:
        return float(value)
    except ValueError:
        raise ValueError(f"features must be numbers, found {value!r}.") from None


def target_of(value: object, labels: Sequence[str]) -> float:
    """A label's number, by its name or its number, or a real target."""
    if value in labels:
        return float(list(labels).index(str(value)))
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        rule = f"one of {', '.join(labels)} or its number" if labels else "a number"
        raise ValueError(f"y must be {rule}, found {value!r}.") from None


def _is_header(row: list[str]) -> bool:
    """Names only: a line with one number among its features is a sample."""
    return not any(is_number(field) for field in row[:-1])


def is_number(field: str) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True


def _open(source: str) -> IO[str]:
    if "://" in source:
        raise InvalidInput(f"a source must be a file or -, found {source!r}.")
    try:
        return Path(source).open(encoding="utf-8-sig", newline="")
    except OSError as error:
        raise InvalidInput(f"cannot read the source {source!r}: {error.strerror}.") from error


def _chain(first: str, rest: Iterable[str]) -> Iterator[str]:
    yield first
    yield from rest

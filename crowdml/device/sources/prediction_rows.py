"""Read features to predict from, in the files that samples come in; y may be missing."""

from collections.abc import Iterator, Sequence

from crowdml.device.sources.files import SourceCursor, detect_json, open_lines
from crowdml.device.sources.form import SampleForm, WrittenSample, at_line
from crowdml.device.targets import target_of
from crowdml.errors import InvalidInput, InvalidSample
from crowdml.privacy import check_target

PredictionRow = tuple[list[float | None], float | None]
"""x, and y if it is known."""


def read_prediction_rows(
    source: str, form: SampleForm, labels: Sequence[str] = ()
) -> Iterator[PredictionRow]:
    """Read the lines of a CSV or JSON-lines file, or of standard input (`-`), one by one.

    Args:
        form: How they are written; `form.count` is the number of features.

    Raises:
        InvalidSample: A line has no valid features; the error names the line.
    """
    with open_lines(source, SourceCursor(source)) as lines:
        is_json, lines = detect_json(lines)
        for number, found in _objects(form, lines) if is_json else form.rows_of_csv(lines):
            try:
                if isinstance(found, InvalidSample):
                    raise found
                x, y = found
                if len(x) != form.count:
                    raise InvalidSample(f"x must be {form.count} numbers, found {len(x)}.")
                yield x, _target(y, labels)
            except InvalidInput as error:
                raise at_line(number, error) from error


def _objects(
    form: SampleForm, lines: Iterator[str]
) -> Iterator[tuple[int, WrittenSample | InvalidSample]]:
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                yield number, form.object_of_json(line)
            except InvalidSample as error:
                yield number, error


def _target(y: object, labels: Sequence[str]) -> float | None:
    return None if y in (None, "") else check_target(target_of(y, labels), len(labels))

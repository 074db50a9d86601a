"""Turn recorded readings, a CSV of times, readings and labels, into samples as a phone does."""

import math
from collections.abc import Iterable, Iterator, Sequence

from crowdml.device.sources.files import SourceCursor, open_lines
from crowdml.device.sources.form import Sample
from crowdml.device.sources.sensing import Sensing, rarer
from crowdml.device.targets import label_or_number
from crowdml.errors import InvalidInput, InvalidSample
from crowdml.protocol import Features
from crowdml.tables import is_number, quoted, rows, separators


def read_recording(
    source: str,
    features: Features,
    labels: Sequence[str],
    cursor: SourceCursor | None = None,
    every: float | None = None,
) -> Iterator[Sample | InvalidSample]:
    """Read samples from a recording in a file or on standard input (`-`)."""
    cursor = cursor or SourceCursor(source)
    with open_lines(source, cursor) as lines:
        yield from read_readings(lines, features, labels, cursor.start + 1, every)


def read_readings(
    lines: Iterable[str],
    features: Features,
    labels: Sequence[str] = (),
    start: int = 1,
    every: float | None = None,
) -> Iterator[Sample | InvalidSample]:
    """Read one reading a line: seconds, the reading, the label or target.

    A first line of names is skipped. Three readings are the parts of a vector, whose length is
    taken. An empty label is an unknown label; a wrong label counts as unknown, and is reported.

    >>> from crowdml.protocol import Sensor
    >>> features = Features(4, sensor=Sensor("light", rate=1, window=2, transform="summary"))
    >>> lines = ["time,lux,label", "0,3,day", "1,5,day", "2,5,day"]
    >>> list(read_readings(lines, features, ["night", "day"]))
    [([4.0, 1.0, 3.0, 5.0], 'day')]
    """
    sensor = features.sensor
    if sensor is None or sensor.registered.typed_in:
        raise InvalidInput(
            "readings need a task with [features.sensor] that has readings, found none. "
            "Give the features themselves."
        )
    sensing = Sensing(rarer(sensor, every), features.count)
    newest = -math.inf
    for number, row in rows(lines, start, plain=True):
        if isinstance(row, InvalidSample):
            yield row
            continue
        if not row or (number == 1 and not is_number(row[0])):
            continue
        wrong, label = None, None
        try:
            time, reading = _reading(row, newest)
        except ValueError as error:
            yield InvalidSample(f"line {number}: {error}", separators(row))
            continue
        newest = time
        try:
            label = label_or_number(row[-1], labels) if row[-1].strip() else None
        except ValueError as error:
            wrong = InvalidSample(f"line {number}: {error}")
        for taken in sensing.push(time, reading, label):
            yield taken.x.tolist(), taken.y
        if wrong:
            yield wrong


def _reading(row: list[str], newest: float) -> tuple[float, float]:
    """Return the time of a reading, and the reading's length."""
    if len(row) not in (3, 5):
        raise ValueError(
            f"expected time, one reading or three, and a label, found {len(row)} columns."
        )
    time, *parts = [_number(field) for field in row[:-1]]
    if not math.isfinite(time):
        raise ValueError(f"times must be finite, found {time}.")
    if not time > newest:
        raise ValueError(f"times must rise, found {time} after {newest}.")
    return time, parts[0] if len(parts) == 1 else math.hypot(*parts)


def _number(field: str) -> float:
    try:
        return float(field)
    except ValueError:
        raise ValueError(f"times and readings must be numbers, found {quoted(field)}.") from None

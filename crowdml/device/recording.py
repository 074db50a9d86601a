"""Recorded readings: a CSV of times, readings and labels, turned into samples as a phone would."""

import csv
import math
from collections.abc import Iterable, Iterator, Sequence

from crowdml.device.sensing import Sensing
from crowdml.device.sources import Sample, is_number, opened, target_of
from crowdml.errors import InvalidInput, InvalidSample
from crowdml.protocol import Features

__all__ = ["read_readings", "read_recording"]


def read_recording(
    source: str, features: Features, labels: Sequence[str]
) -> Iterator[Sample | InvalidSample]:
    """Samples from a recording in a file or on standard input (`-`)."""
    with opened(source) as lines:
        yield from read_readings(lines, features, labels)


def read_readings(
    lines: Iterable[str], features: Features, labels: Sequence[str] = ()
) -> Iterator[Sample | InvalidSample]:
    """One reading a line: seconds, the reading, the label or target; a first line of names is
    skipped. Three readings are the parts of a vector, whose length is taken. An empty label means
    that it is not known.

    >>> from crowdml.protocol import Sensor
    >>> features = Features(4, sensor=Sensor("light", rate=1, window=2, transform="summary"))
    >>> lines = ["time,lux,label", "0,3,day", "1,5,day", "2,5,day"]
    >>> list(read_readings(lines, features, ["night", "day"]))
    [([4.0, 1.0, 3.0, 5.0], 1.0)]
    """
    sensor = features.sensor
    if sensor is None or sensor.kind == "manual":
        raise InvalidInput(
            "readings need a task with [features.sensor] other than manual, found none. "
            "Give the features themselves."
        )
    sensing = Sensing(sensor, features.count)
    for number, row in enumerate(csv.reader(lines), start=1):
        if not row or (number == 1 and not is_number(row[0])):
            continue
        try:
            time, *parts = [_number(field) for field in row[:-1]]
            label = target_of(row[-1].strip(), labels) if row[-1].strip() else None
            for taken in sensing.push(time, _length(parts), label):
                yield taken.x.tolist(), taken.y
        except ValueError as error:
            yield InvalidSample(f"line {number}: {error}")


def _length(parts: list[float]) -> float:
    if len(parts) not in (1, 3):
        raise ValueError(
            f"expected time, one reading or three, and a label, found {len(parts) + 2} columns."
        )
    return parts[0] if len(parts) == 1 else math.hypot(*parts)


def _number(field: str) -> float:
    try:
        return float(field)
    except ValueError:
        raise ValueError(f"times and readings must be numbers, found {field!r}.") from None

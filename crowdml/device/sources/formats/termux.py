"""Read termux-sensor on an Android phone: indented JSON objects in sequence, without times."""

import math
from collections.abc import Iterator
from typing import ClassVar

from crowdml.device.sources.formats.batch import (
    Batch,
    SensorReading,
    length,
    number_in,
    read_document,
    shown,
)
from crowdml.errors import InvalidSample

EXPECTED_MESSAGE = '{"NAME": {"values": [numbers]}}'
SENSOR_WORDS = {"motion": "accel", "light": "light"}
"""A part of the sensor's name, which differs between vendors."""

VARIANT_WORDS = ("linear", "uncal", "wake")
"""Parts of the names of variants, which are used only if there is no plain sensor."""

LONGEST_OBJECT = 2**20
"""Characters: plain text that never ends must not fill the memory."""


class Termux:
    """Read `{"LSM6DSO Accelerometer": {"values": [0.12, 9.7, 0.4]}}`; use the time of arrival."""

    kinds: ClassVar = frozenset(SENSOR_WORDS)
    sources: ClassVar = frozenset({"-"})
    lateness: ClassVar = 0.0
    forgotten: ClassVar = False
    advice: ClassVar = "Name the sensor that the task reads in `termux-sensor -s`"

    def __init__(self, kind: str) -> None:
        self._kind = kind

    def parse(self, body: bytes, arrival: int, topic: str = "") -> Batch:
        document = read_document(body, EXPECTED_MESSAGE)
        found = {
            name: entry["values"]
            for name, entry in document.items()
            if isinstance(entry, dict) and isinstance(entry.get("values"), list)
        }
        if len(found) < len(document):
            raise InvalidSample(f"expected {EXPECTED_MESSAGE}, found {shown(body)}.")
        name = self._choose(list(found))
        if name is None:
            return Batch("termux", [], foreign=tuple(found))
        values = found[name]
        value = length(values[:3]) if self._kind == "motion" else number_in((values or [None])[0])
        if math.isnan(value):
            raise InvalidSample(f"readings must be finite numbers, found {str(values)[:60]}.")
        return Batch("termux", [SensorReading(arrival, value)])

    def _choose(self, names: list[str]) -> str | None:
        """Return the only sensor, or the plainest of several sensors of the task's kind."""
        fitting = [name for name in names if SENSOR_WORDS[self._kind] in name.lower()]
        if not fitting and len(names) == 1:
            return names[0]
        return min(
            fitting, key=lambda name: sum(w in name.lower() for w in VARIANT_WORDS), default=None
        )


class JsonObjects:
    """Cut lines into JSON objects that begin and end at the start of a line.

    >>> objects = JsonObjects()
    >>> [found for line in ["{}", "{", '  "a": 1', "}", "^C"] for found in objects.feed(line)]
    ['{}', '{\\n  "a": 1\\n}']
    """

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._size = 0

    def feed(self, line: str) -> Iterator[str]:
        """Take the next line; return an object if this line completes one."""
        line = line.rstrip("\r\n")
        if line.startswith("{"):
            self._lines, self._size = [], 0
        elif not self._lines:
            return  # plain text between objects
        self._lines.append(line)
        self._size += len(line)
        if line.startswith("}") or (len(self._lines) == 1 and line.rstrip().endswith("}")):
            yield "\n".join(self._lines)
            self._lines = []
        elif self._size > LONGEST_OBJECT:
            self._lines = []

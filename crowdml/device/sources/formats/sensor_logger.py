"""Read Sensor Logger, for iOS, Android and watches: JSON by HTTP or MQTT."""

import math
from typing import Any, ClassVar

from crowdml.device.sources.formats.batch import (
    Batch,
    LabelChange,
    SensorReading,
    length,
    number_in,
    read_document,
)
from crowdml.errors import InvalidSample

EXPECTED_MESSAGE = '{"messageId", "sessionId", "deviceId", "payload": [{"name", "time", "values"}]}'
NAMES = {
    "motion": ("totalacceleration", "accelerometer", "wristmotion", "accelerometeruncalibrated"),
    "light": ("light",),
    "speed": ("location",),
    "sound": ("microphone",),
}
"""The app's names of each sensor, the best one first: it includes gravity, as browsers do."""

LATEST_NANOSECOND = 2**62
"""Nanoseconds: the year 2116, so that sums of times stay whole numbers of 64 bits."""


class SensorLogger:
    """Read `{"payload": [{"name": "accelerometer", "time": nanoseconds, "values": {"x": …}}, …]}`.

    Several sensors come in one message. Of the names that suit the task, the best one that a
    session has had so far is read.
    """

    kinds: ClassVar = frozenset(NAMES)
    sources: ClassVar = frozenset({"http", "mqtt"})
    lateness: ClassVar = 5.0
    forgotten: ClassVar = True
    advice: ClassVar = "In Sensor Logger, switch on the sensor that the task reads"

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._names = NAMES[kind]
        self._best: dict[str, tuple[str, int]] = {}

    def parse(self, body: bytes, arrival: int, topic: str = "") -> Batch:
        document = read_document(body, EXPECTED_MESSAGE)
        payload = document.get("payload")
        if not isinstance(payload, list):
            raise InvalidSample(f"expected {EXPECTED_MESSAGE}, found no list in 'payload'.")
        device, session = str(document.get("deviceId")), str(document.get("sessionId"))
        entries = [_entry(entry) for entry in payload]
        name = self._choose(device, session, {name for name, _, _ in entries})
        readings, labels, foreign = [], [], set()
        for found, time, values in entries:
            if found == "annotation":
                labels.append(LabelChange(time, str(values.get("text") or "").strip()))
            elif found == name:
                reading = self._reading(values)
                if not math.isnan(reading):
                    readings.append(SensorReading(time, reading))
            elif found not in self._names:
                foreign.add(found)
        return Batch(device, readings, tuple(labels), session, foreign=tuple(sorted(foreign)))

    def _choose(self, device: str, session: str, found: set[str]) -> str:
        known, rank = self._best.get(device, ("", len(self._names)))
        rank = rank if known == session else len(self._names)
        rank = min((i for i, name in enumerate(self._names[:rank]) if name in found), default=rank)
        if len(self._best) > 100:  # names from outside must not fill the memory
            self._best.clear()
        self._best[device] = (session, rank)
        return self._names[rank] if rank < len(self._names) else ""

    def _reading(self, values: dict[str, Any]) -> float:
        if self._kind == "motion":
            if "x" not in values and "accelerationX" in values:
                return length([_sum(values, axis) for axis in "XYZ"])
            return length([values.get(axis) for axis in "xyz"])
        if self._kind == "sound":
            return math.pow(10.0, min(0.0, number_in(values.get("dBFS")) / 20))
        value = number_in(values.get("lux" if self._kind == "light" else "speed"))
        return value if value >= 0 else math.nan  # a speed below 0 is unknown


def _entry(entry: object) -> tuple[str, int, dict[str, Any]]:
    """Return name, time and values of an entry of the payload."""
    if not isinstance(entry, dict):
        raise InvalidSample(f"expected {EXPECTED_MESSAGE}, found {str(entry)[:60]!r} in 'payload'.")
    name, time, values = entry.get("name"), entry.get("time"), entry.get("values")
    if isinstance(time, str) and time.isascii() and time.isdigit():
        time = int(time[:20])
    if isinstance(time, float) and time.is_integer():
        time = int(time)
    if type(time) is not int or not 0 <= time < LATEST_NANOSECOND:
        raise InvalidSample(
            f"times must be nanoseconds since 1970, found {str(entry.get('time'))[:40]!r}."
        )
    return str(name).replace(" ", "").lower(), time, values if isinstance(values, dict) else {}


def _sum(values: dict[str, Any], axis: str) -> float:
    """Return the acceleration of a watch including gravity, which the watch sends separately."""
    return number_in(values.get(f"acceleration{axis}")) + (
        number_in(values[f"gravity{axis}"]) if f"gravity{axis}" in values else 0.0
    )

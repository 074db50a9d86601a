"""Read OwnTracks, for iOS and Android: the speed of a location, by MQTT or HTTP."""

import math
from typing import ClassVar

from crowdml.device.sources.formats.batch import (
    SECOND,
    Batch,
    SensorReading,
    number_in,
    read_document,
)
from crowdml.errors import InvalidSample

LATEST_SECOND = 2**32
"""Seconds: the year 2106."""


class OwnTracks:
    """Read `{"_type": "location", "tst": seconds, "vel": km/h, …}`; no place is kept."""

    kinds: ClassVar = frozenset({"speed"})
    sources: ClassVar = frozenset({"http", "mqtt"})
    lateness: ClassVar = 0.0
    forgotten: ClassVar = True
    advice: ClassVar = (
        "In OwnTracks, switch off the encryption of payloads, and use the mode Move, which reports "
        "the speed"
    )

    def __init__(self, kind: str) -> None:
        self._kind = kind

    def parse(self, body: bytes, arrival: int, topic: str = "") -> Batch:
        document = read_document(body, '{"_type": "location", "tst": seconds, "vel": km/h}')
        stream = f"owntracks:{topic}"
        if document.get("_type") != "location":
            encrypted = document.get("_type") == "encrypted"
            return Batch(stream, [], foreign=("encrypted payloads",) if encrypted else ())
        time, speed = number_in(document.get("tst")), number_in(document.get("vel"))
        if not 0 <= time < LATEST_SECOND:
            raise InvalidSample(
                f"'tst' must be seconds since 1970, found {str(document.get('tst'))[:40]!r}."
            )
        if math.isnan(speed) or speed < 0:  # a speed below 0 is unknown
            return Batch(stream, [], foreign=("locations without vel",))
        return Batch(stream, [SensorReading(round(time * SECOND), speed / 3.6)], origin=0)

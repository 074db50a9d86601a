"""Read Home Assistant's mqtt_statestream: the state of an entity, on its own topic."""

import math
from typing import ClassVar

from crowdml.device.sources.formats.batch import Batch, LabelChange, SensorReading, number_in

CHOICES = ("input_select", "select")
"""Domains of entities with which people choose an answer."""

NO_STATE = ("", "unknown", "unavailable", "None")


def is_choice(topic: str) -> bool:
    """Return whether a topic has the state of an entity with which people choose an answer."""
    *_, domain, _, last = ("", "", *topic.split("/"))
    return last == "state" and domain in CHOICES


class StateStream:
    """Read PREFIX/DOMAIN/ENTITY/state: a number is a reading, a choice is the label."""

    kinds: ClassVar = frozenset({"light", "motion", "sound", "speed"})
    sources: ClassVar = frozenset({"mqtt"})
    lateness: ClassVar = 0.0
    forgotten: ClassVar = True
    advice: ClassVar = "Let mqtt_statestream include an entity with a number"

    def __init__(self, kind: str) -> None:
        self._kind = kind

    def parse(self, body: bytes, arrival: int, topic: str = "") -> Batch:
        *_, domain, entity, last = ("", "", *topic.split("/"))
        state = body.decode(errors="replace").strip().strip('"')
        if is_choice(topic):
            text = "" if state in NO_STATE else state
            return Batch("statestream", [], (LabelChange(arrival, text),))
        value = number_in(state)
        if last != "state" or math.isnan(value):
            return Batch("statestream", [], foreign=(f"{domain}.{entity}",) if domain else ())
        return Batch("statestream", [SensorReading(arrival, value)])

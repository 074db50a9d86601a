"""Say how every device turns readings and columns into x: names, constants, sensors.

Everything here is part of the terms, so a change must be repeated in the browser and in the
one-file device, and the vectors must agree.
"""

from crowdml.protocol.features.features import MOST_SCALES, Features, Positive, Readings, Text
from crowdml.protocol.features.sensor import GAP_SECONDS, GAP_TICKS, SUMMARY, Sensor, features_made
from crowdml.protocol.features.sensors import SENSORS, SensorKind

__all__ = [
    "GAP_SECONDS",
    "GAP_TICKS",
    "MOST_SCALES",
    "SENSORS",
    "SUMMARY",
    "Features",
    "Positive",
    "Readings",
    "Sensor",
    "SensorKind",
    "Text",
    "features_made",
]

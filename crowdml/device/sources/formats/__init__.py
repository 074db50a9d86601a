"""Parse what sensor apps send: each format turns a message into readings and labels."""

from crowdml.device.sources.formats.batch import SECOND, Batch, Format, LabelEvent, SensorReading
from crowdml.device.sources.formats.owntracks import OwnTracks
from crowdml.device.sources.formats.phyphox import Phyphox
from crowdml.device.sources.formats.sensor_logger import SensorLogger
from crowdml.device.sources.formats.sensor_logger_link import settings_link
from crowdml.device.sources.formats.statestream import StateStream, is_choice
from crowdml.device.sources.formats.termux import LONGEST_OBJECT, JsonObjects, Termux

FORMATS: dict[str, type[Format]] = {
    "owntracks": OwnTracks,
    "phyphox": Phyphox,
    "sensor-logger": SensorLogger,
    "statestream": StateStream,
    "termux": Termux,
}

__all__ = [
    "FORMATS",
    "LONGEST_OBJECT",
    "SECOND",
    "Batch",
    "Format",
    "JsonObjects",
    "LabelEvent",
    "OwnTracks",
    "Phyphox",
    "SensorLogger",
    "SensorReading",
    "StateStream",
    "Termux",
    "is_choice",
    "settings_link",
]

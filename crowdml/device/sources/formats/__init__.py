"""Parse what sensor apps send: each format turns a message into readings and labels.

`Intake` looks a format up in `APP_FORMATS` by its name, and gives it each message. A format neither
opens connections nor touches the device's file. Messages come from outside, so every new format
needs cases in `tests/fuzz`.
"""

from crowdml.device.sources.formats.batch import SECOND, Batch, Format
from crowdml.device.sources.formats.owntracks import OwnTracks
from crowdml.device.sources.formats.phyphox import Phyphox
from crowdml.device.sources.formats.sensor_logger import SensorLogger
from crowdml.device.sources.formats.sensor_logger_link import settings_link
from crowdml.device.sources.formats.statestream import StateStream, is_choice
from crowdml.device.sources.formats.termux import LONGEST_OBJECT, JsonObjects, Termux

APP_FORMATS: dict[str, type[Format]] = {
    "owntracks": OwnTracks,
    "phyphox": Phyphox,
    "sensor-logger": SensorLogger,
    "statestream": StateStream,
    "termux": Termux,
}

__all__ = [
    "APP_FORMATS",
    "LONGEST_OBJECT",
    "SECOND",
    "Batch",
    "JsonObjects",
    "Phyphox",
    "SensorLogger",
    "StateStream",
    "is_choice",
    "settings_link",
]

"""Read samples from files, standard input and sensor apps; and, in `mqtt`, from topics.

A source hands samples to a device and remembers its position, so that no sample is taken twice.
"""

from crowdml.device.sources.address import (
    ListenAddress,
    PhoneAddress,
    TopicAddress,
    is_address,
    read_address,
    read_listen_address,
    read_phone_address,
)
from crowdml.device.sources.feed import MOST_BAD, SourceCounts, feed
from crowdml.device.sources.form import SampleForm
from crowdml.device.sources.formats import APP_FORMATS, StateStream, is_choice
from crowdml.device.sources.intake import Hint, Intake
from crowdml.device.sources.listener import Listener
from crowdml.device.sources.live import LiveSource, run_live
from crowdml.device.sources.phyphox import PhyphoxPhone
from crowdml.device.sources.pipe import Pipe
from crowdml.device.sources.prediction_rows import read_prediction_rows
from crowdml.device.sources.sensing import features_of

__all__ = [
    "APP_FORMATS",
    "MOST_BAD",
    "Hint",
    "Intake",
    "ListenAddress",
    "Listener",
    "LiveSource",
    "PhoneAddress",
    "PhyphoxPhone",
    "Pipe",
    "SampleForm",
    "SourceCounts",
    "StateStream",
    "TopicAddress",
    "features_of",
    "feed",
    "is_address",
    "is_choice",
    "read_address",
    "read_listen_address",
    "read_phone_address",
    "read_prediction_rows",
    "run_live",
]

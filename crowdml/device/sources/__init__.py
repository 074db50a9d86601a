"""Where samples come from: files, standard input, recorded readings; and, in `mqtt`, topics.

A source hands samples to a device and remembers its place, so that no sample is taken twice.
"""

from crowdml.device.sources.address import TopicAddress, is_address, read_address
from crowdml.device.sources.feed import Fed, feed
from crowdml.device.sources.files import SourcePlace, read_source
from crowdml.device.sources.form import SampleForm
from crowdml.device.sources.inputs import read_inputs
from crowdml.device.sources.look import FirstLook, doubt_about
from crowdml.device.sources.recording import read_recording
from crowdml.device.sources.sensing import features_of

__all__ = [
    "Fed",
    "FirstLook",
    "SampleForm",
    "SourcePlace",
    "TopicAddress",
    "doubt_about",
    "features_of",
    "feed",
    "is_address",
    "read_address",
    "read_inputs",
    "read_recording",
    "read_source",
]

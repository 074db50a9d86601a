"""Algorithm 1: buffer, outbox, the three routines, transport, sources, sensing."""

from crowdml.device.certificate import fingerprint_of, trust_only
from crowdml.device.device import Device
from crowdml.device.enrolment import Offer, Wishes, default_limits, pin, read_terms
from crowdml.device.feed import Fed, feed
from crowdml.device.inputs import read_inputs
from crowdml.device.link import Link, read_link
from crowdml.device.loading import load_model
from crowdml.device.outcome import Outcome
from crowdml.device.recording import read_recording
from crowdml.device.routines import write_checkin
from crowdml.device.sensing import features_of
from crowdml.device.sources import Place, read_source
from crowdml.device.store import DeviceStore, default_file
from crowdml.device.transport import CheckedOut, HttpTransport, Transport
from crowdml.device.waiting import Waiting

__all__ = [
    "CheckedOut",
    "Device",
    "DeviceStore",
    "Fed",
    "HttpTransport",
    "Link",
    "Offer",
    "Outcome",
    "Place",
    "Transport",
    "Waiting",
    "Wishes",
    "default_file",
    "default_limits",
    "features_of",
    "feed",
    "fingerprint_of",
    "load_model",
    "pin",
    "read_inputs",
    "read_link",
    "read_recording",
    "read_source",
    "read_terms",
    "trust_only",
    "write_checkin",
]

"""Algorithm 1: buffer, outbox, the three routines, transport, sources, sensing."""

from crowdml.device.certificate import trust_only
from crowdml.device.device import Device
from crowdml.device.enrolment import default_limits, pin, read_terms
from crowdml.device.outcome import Outcome
from crowdml.device.recording import read_recording
from crowdml.device.sources import Place, read_source
from crowdml.device.store import DeviceStore, default_file
from crowdml.device.transport import HttpTransport, Transport

__all__ = [
    "Device",
    "DeviceStore",
    "HttpTransport",
    "Outcome",
    "Place",
    "Transport",
    "default_file",
    "default_limits",
    "pin",
    "read_recording",
    "read_source",
    "read_terms",
    "trust_only",
]

"""Run Algorithm 1 on a device: buffer, outbox, the three routines, transport, sources, sensing."""

from crowdml.device.agreement import Agreement, Parameters
from crowdml.device.contribution import describe_contribution
from crowdml.device.device import Device
from crowdml.device.enrolment import (
    JoinOptions,
    TermsOffer,
    default_limits,
    pin,
    read_terms,
    rejoin,
)
from crowdml.device.for_you import RightCount, bars, course, for_you
from crowdml.device.identity import Identity
from crowdml.device.label import set_label
from crowdml.device.loading import load_model
from crowdml.device.network import (
    CheckedOut,
    HttpTransport,
    Transport,
    connect,
    fingerprint_of,
    read_link,
    trust_only,
    untrusted,
    why_unreachable,
)
from crowdml.device.outcome import Outcome
from crowdml.device.routines import write_checkin
from crowdml.device.sources import SourceCounts, features_of, feed, read_inputs
from crowdml.device.storage import Account, AccountEntry, DeviceStore, Statement, default_file
from crowdml.device.waiting import Waiting

__all__ = [
    "Account",
    "AccountEntry",
    "Agreement",
    "CheckedOut",
    "Device",
    "DeviceStore",
    "HttpTransport",
    "Identity",
    "JoinOptions",
    "Outcome",
    "Parameters",
    "RightCount",
    "SourceCounts",
    "Statement",
    "TermsOffer",
    "Transport",
    "Waiting",
    "bars",
    "connect",
    "course",
    "default_file",
    "default_limits",
    "describe_contribution",
    "features_of",
    "feed",
    "fingerprint_of",
    "for_you",
    "load_model",
    "pin",
    "read_inputs",
    "read_link",
    "read_terms",
    "rejoin",
    "set_label",
    "trust_only",
    "untrusted",
    "why_unreachable",
    "write_checkin",
]

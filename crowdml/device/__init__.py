"""Run Algorithm 1 on a device: buffer, outbox, the three routines, transport, sources, sensing."""

from crowdml.device.agreement import Agreement, Parameters
from crowdml.device.contribution import describe_contribution
from crowdml.device.device import Device
from crowdml.device.enrolment import (
    JoinOptions,
    TermsOffer,
    default_limits,
    fetch_certificate,
    read_terms,
    rejoin,
)
from crowdml.device.for_you import RightCount, draw_bars, for_you, shares_over_time
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
    untrusted_error,
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
    "connect",
    "default_file",
    "default_limits",
    "describe_contribution",
    "draw_bars",
    "features_of",
    "feed",
    "fetch_certificate",
    "fingerprint_of",
    "for_you",
    "load_model",
    "read_inputs",
    "read_link",
    "read_terms",
    "rejoin",
    "set_label",
    "shares_over_time",
    "trust_only",
    "untrusted_error",
    "why_unreachable",
    "write_checkin",
]

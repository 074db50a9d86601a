"""Run Algorithm 1 on a device: the buffer, the outbox and the three routines.

The command line, the demo, the checks and programs of participants call `Device`. `sources` reads
samples, `network` reaches the server, and `storage` keeps everything in one SQLite file. Only
`agreement` and `routines` see samples and mechanism together; nothing here imports the server.
"""

from crowdml.device.agreement import Agreement, Parameters
from crowdml.device.contribution import describe_contribution
from crowdml.device.current_label import set_label
from crowdml.device.device import Device
from crowdml.device.enrolment import (
    JoinOptions,
    TermsOffer,
    default_limits,
    fetch_certificate,
    read_terms,
    rejoin,
)
from crowdml.device.exported_model import load_model
from crowdml.device.identity import Identity
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
from crowdml.device.personal_accuracy import (
    RightCount,
    describe_personal_accuracy,
    draw_bars,
    shares_over_time,
)
from crowdml.device.retry_timer import RetryTimer
from crowdml.device.routines import write_checkin
from crowdml.device.sources import SourceCounts, features_of, feed, read_prediction_rows
from crowdml.device.storage import (
    Account,
    AccountEntry,
    AccountStatement,
    DeviceStore,
    default_file,
)

__all__ = [
    "Account",
    "AccountEntry",
    "AccountStatement",
    "Agreement",
    "CheckedOut",
    "Device",
    "DeviceStore",
    "HttpTransport",
    "Identity",
    "JoinOptions",
    "Outcome",
    "Parameters",
    "RetryTimer",
    "RightCount",
    "SourceCounts",
    "TermsOffer",
    "Transport",
    "connect",
    "default_file",
    "default_limits",
    "describe_contribution",
    "describe_personal_accuracy",
    "draw_bars",
    "features_of",
    "feed",
    "fetch_certificate",
    "fingerprint_of",
    "load_model",
    "read_link",
    "read_prediction_rows",
    "read_terms",
    "rejoin",
    "set_label",
    "shares_over_time",
    "trust_only",
    "untrusted_error",
    "why_unreachable",
    "write_checkin",
]

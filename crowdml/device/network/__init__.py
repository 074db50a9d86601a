"""Reach a server: links, pinned certificates, requests, and why a server cannot be reached.

Only payloads that the store holds may be sent. A new transport must pass
`crowdml.checks.check_transport`.
"""

from crowdml.device.network.certificate import (
    fetch_pinned,
    fingerprint_of,
    trust_only,
    untrusted_error,
)
from crowdml.device.network.link import read_link, split_root
from crowdml.device.network.transport import CheckedOut, HttpTransport, Transport, connect
from crowdml.device.network.unreachable import why_unreachable

__all__ = [
    "CheckedOut",
    "HttpTransport",
    "Transport",
    "connect",
    "fetch_pinned",
    "fingerprint_of",
    "read_link",
    "split_root",
    "trust_only",
    "untrusted_error",
    "why_unreachable",
]

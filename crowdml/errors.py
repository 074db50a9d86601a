"""Every error that crowdml raises on purpose.

CrowdmlError
├── InvalidInput          a value breaks a rule; nothing was changed
│   ├── InvalidSample     a sample that the device refuses
│   └── InvalidTask       a task file with a wrong field
├── PrivacyError          continuing would break a promise made to the participant
│   ├── LimitReached      the ledger has no ε left for this release
│   ├── NotPrivate        the task adds no noise and nobody agreed to that
│   └── TermsChanged      the server's terms are not the ones that were agreed to
├── DeviceError           the local device file cannot be used as asked
├── Unreachable           the network or the server failed; try again later
├── Untrusted             the server's certificate is not the expected one
└── Rejected              the server said no, with an RFC 9457 problem

A message states the rule, the value found and what to do.
"""

from typing import Any

__all__ = [
    "CrowdmlError",
    "DeviceError",
    "InvalidInput",
    "InvalidSample",
    "InvalidTask",
    "LimitReached",
    "NotPrivate",
    "PrivacyError",
    "Rejected",
    "TermsChanged",
    "Unreachable",
    "Untrusted",
]


class CrowdmlError(Exception):
    """The root of the tree above."""


class InvalidInput(CrowdmlError, ValueError):
    """A value breaks a rule."""


class InvalidSample(InvalidInput):
    """A sample that the device refuses."""


class InvalidTask(InvalidInput):
    """A task file with a wrong field."""


class PrivacyError(CrowdmlError):
    """Continuing would break a promise made to the participant."""


class LimitReached(PrivacyError):
    """The ledger has no ε left for this release."""


class NotPrivate(PrivacyError):
    """The task adds no noise and nobody agreed to that."""


class TermsChanged(PrivacyError):
    """The server's terms are not the ones that were agreed to."""


class DeviceError(CrowdmlError):
    """The local device file cannot be used as asked."""


class Unreachable(CrowdmlError):
    """The network or the server failed; the same request may succeed later."""


class Untrusted(CrowdmlError):
    """The server's certificate is not the expected one."""


class Rejected(CrowdmlError):
    """The server said no.

    Args:
        kind: The stable last part of the problem's `type`, such as `"stale-version"`.
        status: The HTTP status.
        detail: The server's sentence for people.
        extra: Further members of the problem, such as `state` or `retry_after`.
    """

    def __init__(self, kind: str, status: int, detail: str, extra: dict[str, Any] | None = None):
        super().__init__(detail)
        self.kind = kind
        self.status = status
        self.detail = detail
        self.extra = extra or {}

"""Define the identity of a device."""

import secrets
from dataclasses import dataclass, field

from crowdml.privacy import Limits
from crowdml.tables import check_kind


@dataclass(frozen=True)
class Identity:
    """Hold the name of the device, its task and server, and what the participant agreed to.

    Args:
        earlier: Check-ins in the ledger that an earlier device has sent with this file: they count
            against the limits, and are not among the numbers of this device.
        record: A random name, known to this machine alone, for the device's record in the account.
    """

    url: str
    task: str
    device: str
    token: str
    terms: str
    limits: Limits
    certificate: str | None = None
    insecure_http: bool = False
    ended: str | None = None
    earlier: int = 0
    record: str = field(default_factory=lambda: secrets.token_hex(16))

    def __post_init__(self) -> None:
        check_limits(self.limits)


def check_limits(limits: object) -> None:
    """Raise `InvalidInput` for anything that is not a participant's limits."""
    check_kind("limits", limits, Limits, "Limits(per_sample=…, per_device=…)")

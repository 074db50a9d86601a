"""Turn a minibatch into the message that may leave: Device Routines 2 and 3."""

from typing import Any

import msgspec

from crowdml.privacy import Chance, CheckinEvent, CheckinKey, Mechanism, MinibatchView
from crowdml.protocol import Checkin, checkin_type


def write_checkin(
    mechanism: Mechanism,
    minibatch: MinibatchView,
    event: CheckinEvent,
    key: CheckinKey,
    chance: Chance,
    version: int,
) -> Checkin:
    """Write the check-in, which reveals no more about a minibatch than the event says.

    Args:
        event: What the check-in sends, as the ledger has approved it.
        version: The version of the parameters that were checked out.

    Paper: Algorithm 1, Device Routines 2 and 3.
    """
    payload = mechanism.make_payload(minibatch, event, key, chance)
    fields: dict[str, Any] = msgspec.structs.asdict(payload)
    fields |= {"id": chance.random_id(), "version": version, "terms": key.terms_sha256}
    message: Checkin = checkin_type(mechanism.payload_type)(**fields)
    return message

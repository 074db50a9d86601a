"""Device Routines 2 and 3: from a minibatch to the message that may leave."""

from typing import Any

import msgspec

from crowdml.privacy import Chance, CheckinEvent, Mechanism, MinibatchView, Place
from crowdml.protocol import Checkin, checkin_type


def write_checkin(
    mechanism: Mechanism,
    minibatch: MinibatchView,
    event: CheckinEvent,
    place: Place,
    chance: Chance,
    version: int,
) -> Checkin:
    """The check-in that tells of a minibatch no more than the event says.

    Args:
        event: What the check-in tells, as the ledger has approved it.
        version: That of the parameters that were checked out.

    Paper: Algorithm 1, Device Routines 2 and 3.
    """
    payload = mechanism.make_payload(minibatch, event, place, chance)
    fields: dict[str, Any] = msgspec.structs.asdict(payload)
    fields |= {"id": chance.token(), "version": version, "terms": place.terms_sha256}
    message: Checkin = checkin_type(mechanism.payload_type)(**fields)
    return message

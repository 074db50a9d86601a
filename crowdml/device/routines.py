"""Device Routines 2 and 3: from a minibatch to the message that may leave."""

from typing import Any

import msgspec

from crowdml.privacy import Chance, CheckinEvent, Mechanism, Minibatch, Place
from crowdml.protocol import Checkin, checkin_type

__all__ = ["write_checkin"]


def write_checkin(
    mechanism: Mechanism,
    minibatch: Minibatch,
    event: CheckinEvent,
    place: Place,
    chance: Chance,
    version: int,
) -> Checkin:
    """The check-in that tells of a minibatch no more than the event says.

    Args:
        mechanism: That of the agreed terms.
        minibatch: The samples, with the parameters that were checked out.
        event: What the check-in tells, as the ledger has approved it.
        place: Where it belongs.
        chance: Where all that is random comes from.
        version: That of the parameters.

    Paper: Algorithm 1, Device Routines 2 and 3.
    """
    told = mechanism.tell(minibatch, event, place, chance)
    fields: dict[str, Any] = msgspec.structs.asdict(told)
    fields |= {"id": chance.token(), "version": version, "terms": place.terms_sha256}
    return checkin_type(mechanism)(**fields)

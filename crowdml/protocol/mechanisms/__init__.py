"""List the mechanisms that a task can name; there is no other list of them.

Device, server, portal, simulator and audit look a mechanism up here by the name that the terms
give, and know nothing else about it. `web/mechanisms/index.js` is the list of the browser.
"""

from typing import Any, Union

import msgspec

from crowdml.errors import InvalidInput
from crowdml.privacy import CheckinEvent
from crowdml.protocol.mechanisms.direction import DIRECTION
from crowdml.protocol.mechanisms.kind import (
    LARGEST_EPSILON,
    MECHANISMS,
    SMALLEST_EPSILON,
    Conditions,
    Epsilon,
    MechanismKind,
    PrivacyTerms,
    WantedPrivacy,
    tag_of,
)
from crowdml.protocol.mechanisms.noise import GAUSSIAN_NOISE, LAPLACE_NOISE

__all__ = [
    "LARGEST_EPSILON",
    "MECHANISMS",
    "SMALLEST_EPSILON",
    "USUAL_MECHANISM",
    "Conditions",
    "Epsilon",
    "MechanismKind",
    "PrivacyTerms",
    "WantedPrivacy",
    "kind_in",
    "read_event",
    "tag_of",
]

MECHANISMS |= {"direction": DIRECTION, "gaussian": GAUSSIAN_NOISE, "laplace": LAPLACE_NOISE}
USUAL_MECHANISM = DIRECTION.name


def kind_in(document: Any) -> MechanismKind | None:
    """Return the mechanism that a task file or terms name; None if they name none that is known.

    >>> kind_in({"privacy": {"mechanism": "laplace"}}).name
    'laplace'
    """
    privacy = document.get("privacy", {}) if isinstance(document, dict) else None
    name = privacy.get("mechanism", USUAL_MECHANISM) if isinstance(privacy, dict) else None
    return MECHANISMS.get(name) if isinstance(name, str) else None


def read_event(document: bytes) -> CheckinEvent:
    """Read an event of the ledger, whichever mechanism made it.

    >>> from crowdml.privacy import DirectionEvent, Role
    >>> read_event(msgspec.msgpack.encode(DirectionEvent(1, Role.TRAIN, 4.0)))
    DirectionEvent(number=1, role=<Role.TRAIN: 'train'>, epsilon=4.0)
    """
    events: Any = Union[tuple(kind.event for kind in MECHANISMS.values())]  # noqa: UP007
    try:
        event: CheckinEvent = msgspec.msgpack.decode(document, type=events)
    except msgspec.ValidationError as error:
        raise InvalidInput(
            f"an event must be of a mechanism that this version knows: {error}. Another version "
            "of crowdml has written it: use that one to see what was sent."
        ) from error
    return event

"""Check everything about a check-in that does not depend on the order of arrivals.

The checks change nothing, and each failure has its own problem type.
"""

import msgspec

from crowdml.phrase import Phrase
from crowdml.privacy import CheckinKey, Implausible
from crowdml.protocol import Checkin, Terms, checkin_type, rejected

ENVELOPE_BYTES = 1024
"""Room for the fields that every check-in has."""


class CheckinRules:
    """Check check-ins against the terms of one task."""

    def __init__(self, terms: Terms, terms_sha256: str) -> None:
        self._terms_sha256 = terms_sha256
        self._mechanism = terms.mechanism()
        self.decoder = msgspec.json.Decoder(checkin_type(self._mechanism.payload_type))
        self.largest_body = self._mechanism.largest_payload + ENVELOPE_BYTES

    def check(self, checkin: Checkin, device: str) -> None:
        """Raise `Rejected` unless an honest device with these terms could have sent it."""
        if checkin.terms != self._terms_sha256:
            words = Phrase(
                "terms must be {terms}, found {found}. Read the task's terms again before "
                "taking part.",
                terms=self._terms_sha256,
                found=checkin.terms,
            )
            raise rejected("terms-changed", words)
        key = CheckinKey(self._terms_sha256, device, checkin.number or 0)
        try:
            self._mechanism.check(checkin, key)
        except Implausible as error:
            raise rejected(error.kind, error.phrase) from None

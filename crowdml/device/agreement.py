"""What was agreed to, put to work: Device Routines 2 and 3, with every promise checked."""

import msgspec

from crowdml.device.routines import choose_heldout, summarize, write_checkin
from crowdml.device.store import Identity, Letter
from crowdml.device.transport import CheckedOut
from crowdml.errors import InvalidInput, TermsChanged, Unreachable
from crowdml.privacy import Chance, CheckinRelease, Ledger
from crowdml.protocol import State, Terms, decode_parameters, rejected, terms_hash
from crowdml.types import Array

__all__ = ["Agreement"]


class Agreement:
    """The pinned terms and the participant's limits, and all that follows from them.

    Nothing that a server says later enters here, but w.
    """

    def __init__(self, identity: Identity) -> None:
        self.terms = Terms.parse(identity.terms)
        self.terms_sha256 = terms_hash(identity.terms)
        self._limits = identity.limits
        self._model = self.terms.make_model()
        self._sanitizer = self.terms.sanitizer()

    def accept(self, checked_out: CheckedOut) -> Array:
        """The parameters of a check-out, if it is on the agreed terms and makes sense."""
        checkout, terms_sha256 = checked_out
        if terms_sha256 != self.terms_sha256:
            raise TermsChanged(
                f"the server now asks for the terms {terms_sha256}, agreed are "
                f"{self.terms_sha256}. Nothing is sent until the participant agrees again."
            )
        if checkout.state.final:
            raise rejected("task-finished", f"the task has ended: {checkout.state}.")
        if checkout.state is State.PAUSED:
            raise rejected("task-paused", "the task is paused.")
        try:
            return decode_parameters(checkout.parameters, self._sanitizer.size)
        except InvalidInput as error:
            raise Unreachable(f"the server's answer makes no sense: {error}") from error

    def require_budget(self, ledger: Ledger, n_samples: int) -> CheckinRelease:
        """What a check-in of so many samples will tell; `LimitReached` if that is too much."""
        event = self.terms.event(n_samples)
        ledger.require(event, self._limits)
        return event

    def write(
        self, version: int, w: Array, x: Array, y: Array, ledger: Ledger, chance: Chance
    ) -> tuple[Letter, CheckinRelease] | None:
        """A minibatch as a letter that may leave, and what it tells; None for fewer than b.

        The ledger approves one event; the noise is that event's, and the caller books it.

        Paper: Algorithm 1, Device Routines 2 and 3.
        """
        if len(x) < self.terms.collection.batch:
            return None
        event = self.require_budget(ledger, len(x))
        heldout = choose_heldout(len(x), event.n_heldout, chance)
        summary = summarize(self._model, w, x, y, heldout, self._sanitizer.clip)
        message = write_checkin(
            self._sanitizer,
            summary,
            event,
            chance,
            w=w,
            version=version,
            terms_sha256=self.terms_sha256,
        )
        return Letter(message.id, msgspec.json.encode(message)), event

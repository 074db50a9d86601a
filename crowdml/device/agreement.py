"""What was agreed to, put to work: Device Routines 2 and 3, with every promise checked."""

import msgspec
import numpy.typing as npt

from crowdml.device.routines import write_checkin
from crowdml.device.sources import target_of
from crowdml.device.store import Identity, Letter
from crowdml.device.transport import CheckedOut
from crowdml.errors import InvalidInput, NotPrivate, TermsChanged, Unreachable
from crowdml.learnt import LearntModel, read_model
from crowdml.models import Minibatch
from crowdml.phrase import Phrase
from crowdml.privacy import Chance, CheckinEvent, Ledger, Place, bound_features, check_target
from crowdml.protocol import State, Terms, decode_parameters, rejected, terms_hash
from crowdml.types import Array

__all__ = ["Agreement", "require_successor"]


class Agreement:
    """The pinned terms and the participant's limits, and all that follows from them.

    Nothing that a server says later enters here, but w.
    """

    def __init__(self, identity: Identity) -> None:
        self.terms = Terms.parse(identity.terms)
        self.terms_sha256 = terms_hash(identity.terms)
        self._limits = identity.limits
        self._device = identity.device
        self._model = self.terms.make_model()
        self._mechanism = self.terms.mechanism()

    def features(self, x: npt.ArrayLike) -> Array:
        """x as a sample has it: D numbers, rescaled to ‖x‖ ≤ 1 if they are longer."""
        return bound_features(x, self.terms.features.count, self._mechanism.norm)

    def target(self, y: object) -> float:
        """y as a sample has it: the number of a label, or a real target."""
        labels = self.terms.target.labels
        if labels and isinstance(y, str):
            y = target_of(y, labels)
        return check_target(y, len(labels))

    def fulfilled(self, ledger: Ledger) -> bool:
        """Whether all check-ins that were agreed to are made."""
        most = self.terms.collection.checkins
        return most is not None and len(ledger.events) >= most

    def accept(self, checked_out: CheckedOut) -> Array:
        """The parameters of a check-out, if it is on the agreed terms and makes sense."""
        checkout, terms_sha256 = checked_out
        self._require_terms(terms_sha256)
        if checkout.state.final:
            words = Phrase("the task has ended: {state}.", state=checkout.state.phrase)
            raise rejected("task-finished", words)
        if checkout.state is State.PAUSED:
            raise rejected("task-paused", Phrase("the task is paused."))
        try:
            return decode_parameters(checkout.parameters, self._model.size)
        except InvalidInput as error:
            raise Unreachable(f"the server's answer makes no sense: {error}") from error

    def accept_learnt(self, data: bytes) -> LearntModel:
        """The model that a server says it has learnt, if that was on the agreed terms."""
        try:
            model = read_model(data, "the server's answer")
            expected, found = self.terms.features.count, model.n_features_in_
            if found != expected:
                raise InvalidInput(f"the server's answer must be of {expected} features: {found}.")
        except InvalidInput as error:
            raise Unreachable(str(error)) from error
        self._require_terms(model.about.terms_sha256)
        return model

    def _require_terms(self, terms_sha256: str) -> None:
        if terms_sha256 != self.terms_sha256:
            raise TermsChanged(
                f"the server now asks for the terms {terms_sha256}, agreed are "
                f"{self.terms_sha256}. Nothing is sent until the participant agrees again."
            )

    def require_budget(self, ledger: Ledger, n_samples: int) -> CheckinEvent:
        """What the next check-in will tell; `LimitReached` if that is too much."""
        event = self._mechanism.event(n_samples, self._next(ledger))
        ledger.require(event, self._limits)
        return event

    def write(
        self, version: int, w: Array, x: Array, y: Array, ledger: Ledger, chance: Chance
    ) -> tuple[Letter, CheckinEvent] | None:
        """A minibatch as a letter that may leave, and what it tells; None for fewer than b.

        The ledger approves one event; the mechanism spends exactly it, and the caller books it.

        Paper: Algorithm 1, Device Routines 2 and 3.
        """
        if len(x) < self.terms.collection.batch or self.fulfilled(ledger):
            return None
        event = self.require_budget(ledger, len(x))
        minibatch, place = Minibatch(self._model, w, x, y), self._next(ledger)
        message = write_checkin(self._mechanism, minibatch, event, place, chance, version)
        return Letter(message.id, msgspec.json.encode(message)), event

    def _next(self, ledger: Ledger) -> Place:
        return Place(self.terms_sha256, self._device, len(ledger.events) + 1)


def require_successor(terms: Terms, old: Terms, n_samples: int) -> None:
    """Raise unless a device may go on with these terms, and with the samples that wait."""
    if not terms.private and old.private:
        raise NotPrivate(
            f"the task {terms.task} is no longer private. {terms.why_not_private} Leave it, or "
            "join it anew."
        )
    # Samples that were taken under the old terms must be samples under the new ones.
    shapes = [(t.features.count, t.features.sensor, t.target.labels) for t in (terms, old)]
    if n_samples and shapes[0] != shapes[1]:
        raise InvalidInput(
            f"{n_samples} samples in the buffer do not fit the new terms. Leave and join again to "
            "discard them."
        )

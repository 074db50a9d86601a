"""Apply the agreed terms: Device Routines 2 and 3, with every promise checked."""

import hashlib
from collections.abc import Mapping
from typing import NamedTuple, cast

import msgspec
import numpy.typing as npt

from crowdml.device.identity import Identity
from crowdml.device.network import CheckedOut
from crowdml.device.personal_accuracy import RightCount, count_right
from crowdml.device.routines import write_checkin
from crowdml.device.storage import WrittenCheckin
from crowdml.device.targets import target_of
from crowdml.errors import InvalidInput, NotPrivate, TermsChanged, Unreachable
from crowdml.learnt import LearntModel, read_model
from crowdml.models import Minibatch
from crowdml.phrase import Phrase
from crowdml.privacy import (
    Chance,
    CheckinEvent,
    CheckinKey,
    Ledger,
    Role,
    bound_features,
    check_target,
)
from crowdml.protocol import (
    Checkout,
    Readings,
    State,
    Terms,
    decode_parameters,
    rejected,
    terms_hash,
)
from crowdml.types import Array


class Approval(NamedTuple):
    """Hold a check-in that the ledger has approved, to be spent once and exactly as approved.

    Args:
        n_samples: How many samples it uses: the oldest ones in the buffer.
    """

    key: CheckinKey
    event: CheckinEvent
    n_samples: int


class Parameters(NamedTuple):
    """Hold the parameters of a check-out.

    Args:
        w: Where the gradient is taken; the exported model for a check-in that evaluates.
        exported: The exported model, where a check-in both trains and counts errors.
    """

    w: Array
    exported: Array | None = None


class Agreement:
    """Hold the pinned terms and the participant's limits, and what follows from them.

    Of what a server says later, only w is used here.
    """

    def __init__(self, identity: Identity) -> None:
        self.terms = Terms.parse(identity.terms)
        self.terms_sha256 = terms_hash(identity.terms)
        self._limits = identity.limits
        self._device = identity.device
        self._earlier = identity.earlier
        self._model = self.terms.make_model()
        self._mechanism = self.terms.mechanism()

    def features(self, x: Readings) -> Array:
        """Return x as a sample has it: D numbers made of the readings, with ‖x‖ ≤ 1."""
        features, row = self.terms.features, cast(npt.ArrayLike, x)
        if isinstance(x, Mapping) or features.names or features.transforms:
            row = features.scaled(features.values(x))
        return bound_features(row, features.count, self._mechanism.norm)

    def target(self, y: object) -> float:
        """Return y as a sample has it: the number of a label, or a real target."""
        labels = self.terms.target.labels
        return check_target(target_of(y, labels) if labels else y, len(labels))

    def fulfilled(self, ledger: Ledger) -> bool:
        """Return whether all check-ins that were agreed to are made."""
        most = self.terms.collection.checkins
        return most is not None and self._next_number(ledger) > most

    def _next_number(self, ledger: Ledger) -> int:
        return len(ledger.events) - self._earlier + 1

    def role(self, key: CheckinKey) -> Role | None:
        """Return the role of a check-in; None where check-ins have no roles."""
        return self._mechanism.role(key)

    def accept(self, checked_out: CheckedOut) -> Parameters:
        """Return the parameters of a check-out, if it is on the agreed terms and makes sense."""
        checkout, terms_sha256 = checked_out
        self._require_terms(terms_sha256)
        if checkout.state.final:
            words = Phrase("the task has ended: {state}.", state=checkout.state.phrase)
            raise rejected("task-finished", words)
        if checkout.state is State.PAUSED:
            raise rejected("task-paused", Phrase("the task is paused."))
        try:
            w = self._decoded(checkout, checkout.parameters)
            other = checkout.exported
            return Parameters(w, None if other is None else self._decoded(checkout, other))
        except InvalidInput as error:
            raise Unreachable(f"the server's answer makes no sense: {error}") from error

    def accept_export(self, data: bytes) -> LearntModel:
        """Return the model that a server has learnt, if it was learnt on the agreed terms."""
        try:
            model = read_model(data, "the server's answer", self._largest_model)
            expected, found = self.terms.features.count, model.n_features_in_
            if found != expected:
                raise InvalidInput(f"the server's answer must be of {expected} features: {found}.")
        except InvalidInput as error:
            raise Unreachable(str(error)) from error
        self._require_terms(model.about.terms_sha256)
        return model

    @property
    def _largest_model(self) -> int:
        """Return the largest size, in bytes, of a model that has the agreed numbers and names."""
        n_names = self.terms.features.count + len(self.terms.target.labels)
        return 100_000 + 32 * self._model.size + 600 * n_names

    def _decoded(self, checkout: Checkout, parameters: bytes) -> Array:
        """Decode w; version 0 of a task with a start must be the start that was agreed to."""
        start = self.terms.model.start
        if start is not None and not checkout.version:
            found = hashlib.sha256(parameters).hexdigest()
            if found != start.sha256:
                raise InvalidInput(
                    f"version 0 must be the start that the terms name, {start.sha256}, found "
                    f"{found}."
                )
        return decode_parameters(parameters, self._model.size)

    def _require_terms(self, terms_sha256: str) -> None:
        if terms_sha256 != self.terms_sha256:
            raise TermsChanged(
                f"the server now asks for the terms {terms_sha256}, agreed are "
                f"{self.terms_sha256}. Nothing is sent until the participant agrees again."
            )

    def approve(self, ledger: Ledger, n_samples: int) -> Approval:
        """Make the next check-in's event, and raise `LimitReached` if it costs too much."""
        key = CheckinKey(self.terms_sha256, self._device, self._next_number(ledger))
        event = self._mechanism.event(n_samples, key)
        ledger.require(event, self._limits)
        return Approval(key, event, n_samples)

    def write(
        self,
        approval: Approval,
        version: int,
        parameters: Parameters,
        x: Array,
        y: Array,
        ledger: Ledger,
        chance: Chance,
    ) -> WrittenCheckin | None:
        """Write a minibatch as a check-in that may leave.

        None for fewer samples than were approved, or if another process has sent a check-in since
        the approval.

        Paper: Algorithm 1, Device Routines 2 and 3.
        """
        key, event, n_samples = approval
        if len(x) != n_samples or n_samples < self.terms.collection.batch:
            return None
        if self.fulfilled(ledger) or key.number != self._next_number(ledger):
            return None
        minibatch = Minibatch(self._model, parameters.w, x, y, parameters.exported)
        message = write_checkin(self._mechanism, minibatch, event, key, chance, version)
        return WrittenCheckin(message.id, msgspec.json.encode(message))

    def count_right(self, parameters: Parameters, x: Array, y: Array) -> RightCount:
        """Count, for the participant alone, which samples the crowd's model is right about."""
        w, exported = parameters
        return count_right(self._model, w if exported is None else exported, x, y)


def require_successor(terms: Terms, old: Terms, n_samples: int) -> None:
    """Raise unless a device may continue with these terms and with the samples in its buffer."""
    if not terms.private and old.private:
        raise NotPrivate(
            f"the task {terms.task} is no longer private. "
            f"{terms.promise.sentences['not_private']} Leave it, or "
            "join it anew."
        )
    # Samples that were taken under the old terms must be valid under the new terms.
    without_words = [msgspec.structs.replace(t.features, description="") for t in (terms, old)]
    shapes = list(zip(without_words, (terms.target.labels, old.target.labels), strict=True))
    if n_samples and shapes[0] != shapes[1]:
        raise InvalidInput(
            f"{n_samples} samples in the buffer do not fit the new terms. Leave and join again to "
            "discard them."
        )

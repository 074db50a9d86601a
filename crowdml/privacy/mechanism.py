"""Define the interface of a mechanism, the only way from samples to a message."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import msgspec

from crowdml.errors import InvalidInput
from crowdml.phrase import Phrase
from crowdml.privacy.chance import Chance
from crowdml.privacy.checkin_key import CheckinKey
from crowdml.privacy.events import CheckinEvent, Role
from crowdml.privacy.loss import Loss, Unit
from crowdml.privacy.minibatch import MinibatchView
from crowdml.privacy.shown import HidingPicture, ShownPayload, WatchedMinibatch
from crowdml.privacy.stand_in import StandIn
from crowdml.types import Array


class CheckinEstimates(NamedTuple):
    """Hold what the server reads from a check-in.

    Args:
        g: An estimate of the average gradient; None if the check-in does not train.
        evaluated: The number of predictions that were checked; 0 if the check-in does not evaluate.
        errors: An unbiased estimate of how many of them were wrong.
        reported_errors: The reported number of wrong predictions, with its noise, cut to
            0 … `evaluated`.
        labels: An unbiased estimate of how many samples had each label.
        labelled: Samples behind `labels`.
    """

    g: Array | None = None
    evaluated: int = 0
    errors: float = 0.0
    reported_errors: int = 0
    labels: tuple[float, ...] = ()
    labelled: int = 0


class ErrorCountLaw(NamedTuple):
    """Describe the law of `reported_errors` for a known share of wrong predictions.

    Args:
        mean: The mean of `reported_errors`.
        noise: The variance that the mechanism's randomness adds, independent in each report.
        sampling: The variance from which predictions were evaluated. Reports of one person may
            share it: a person for whom the model fails reports errors again and again.
    """

    mean: float
    noise: float
    sampling: float


class Implausible(InvalidInput):
    """Reject a payload that no honest device sends; `kind` names the problem type."""

    def __init__(self, kind: str, sentence: str | Phrase) -> None:
        super().__init__(sentence)
        self.kind = kind


class Mechanism(Protocol):
    """Hide samples, state the cost and whom it is for, and read the payload on the server.

    Device, server, portal and simulator ask the mechanism of a task; none of them knows which
    mechanism it is. A subclass inherits every method that has a body here; these bodies suit a
    mechanism whose check-ins all train.
    """

    @property
    def unit(self) -> Unit:
        """Return whom the promise protects."""

    @property
    def norm(self) -> int:
        """Return the norm, 1 or 2, in which longer features are rescaled to ‖x‖ ≤ 1."""

    @property
    def payload_type(self) -> type[msgspec.Struct]:
        """Return the type of the payload."""

    @property
    def largest_payload(self) -> int:
        """Return the largest size of the payload as JSON, in bytes."""

    @property
    def private_bytes(self) -> int:
        """Return how many bytes of a check-in depend on samples, at most."""

    def event(self, n_samples: int, key: CheckinKey) -> CheckinEvent:
        """Make the event of a check-in with `n_samples` samples, before anything is sent."""

    def role(self, key: CheckinKey) -> Role | None:
        """Return the role of the check-in with this key, by a public rule; None without roles."""
        return None

    def make_payload(
        self, minibatch: MinibatchView, event: CheckinEvent, key: CheckinKey, chance: Chance
    ) -> msgspec.Struct:
        """Make the payload of a minibatch, which spends exactly the event.

        The ledger has approved this event. `event` makes it once for a check-in, and an event of
        another check-in or mechanism is rejected.
        """

    def check(self, payload: Any, key: CheckinKey) -> None:
        """Raise `Implausible` unless an honest device could have sent the payload with this key."""

    def read(self, payload: Any, key: CheckinKey) -> CheckinEstimates:
        """Read a payload on the server."""

    def read_all(
        self, payloads: Sequence[Any], keys: Sequence[CheckinKey]
    ) -> Iterator[CheckinEstimates]:
        """Read many payloads, which may be faster than reading each alone."""
        return map(self.read, payloads, keys)

    # Known before any check-in

    @property
    def length(self) -> float:
        """Return S: no gradient that is read is longer, except for its noise."""

    @property
    def noise_energy(self) -> float:
        """Return E‖noise‖² of a gradient that is read."""

    @property
    def lengths_vary(self) -> bool:
        """Return whether some gradients can be much longer than others.

        If they can, the server limits how far one gradient moves w.
        """
        return True

    @property
    def error_variance(self) -> float:
        """Return the variance of the noise in `errors` of a check-in that evaluates."""
        return 0.0

    def error_count_law(self, error: float, evaluated: int) -> ErrorCountLaw:
        """Return the law of `reported_errors` if this share of `evaluated` predictions is wrong.

        For a larger share the mean is at least as large, however people differ.
        """
        return ErrorCountLaw(evaluated * error, 0.0, evaluated * error * (1 - error))

    @property
    def label_variance(self) -> float:
        """Return the largest variance of the noise in any of `labels`."""
        return 0.0

    @property
    def evaluates(self) -> bool:
        """Return whether any check-in reports how well the model predicts."""
        return False

    @property
    def counts_labels(self) -> bool:
        """Return whether any check-in counts labels."""
        return False

    @property
    def counts_share(self) -> float:
        """Return the largest share of a unit's loss that whole numbers, the counts, may have."""
        return 0.0

    @property
    def numbers(self) -> int:
        """Return how many numbers of a check-in depend on samples."""
        return 1

    @property
    def truth_probability(self) -> Mapping[Role, float]:
        """Return for each role the probability of sending a number that fits the samples best.

        The result is empty where check-ins have no roles.
        """
        return {}

    @property
    def operations(self) -> int:
        """Return about how many operations a device needs to hide one gradient: a public number.

        An operation is one multiplication and one addition. The time slot of a check-in grows with
        this number, so that the device finishes within the slot, whatever its samples are.
        """

    # For simulations, pictures, examples and audits

    def stand_in(self, noisy: bool) -> StandIn:
        """Return the stand-in that a simulation uses instead of this mechanism."""

    def picture(self, epsilon: float, n_samples: int) -> HidingPicture:
        """Return a picture of how a check-in with `n_samples` samples is hidden at some ε."""

    def show(
        self, payload: Any, minibatch: WatchedMinibatch, key: CheckinKey, labels: Sequence[str]
    ) -> ShownPayload:
        """Return what an example shows: what was asked of the minibatch, and what was sent."""

    def private_numbers(self, payload: Any) -> list[int]:
        """Return the numbers in a payload that depend on samples."""

    def log_ratios(
        self, payloads: Sequence[Any], sides: Sequence[MinibatchView], key: CheckinKey
    ) -> dict[str, tuple[Loss, Array]]:
        """Return for each part of some payloads its claimed cost, and log P/P′ of each payload.

        P is the probability with the first side's samples and P′ with the second side's, by the
        claimed law. The part `checkin` is the whole payload.
        """

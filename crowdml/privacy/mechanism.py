"""What a mechanism is: the only door through which anything leaves a device."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import msgspec

from crowdml.errors import InvalidInput
from crowdml.phrase import Phrase
from crowdml.privacy.chance import Chance
from crowdml.privacy.events import CheckinEvent, Role
from crowdml.privacy.loss import Loss, Unit
from crowdml.privacy.minibatch import MinibatchView
from crowdml.privacy.picture import HidingPicture
from crowdml.privacy.place import Place
from crowdml.privacy.shown import Shown, Watched
from crowdml.privacy.stand_in import StandIn
from crowdml.types import Array


class Reading(NamedTuple):
    """What the server takes from a check-in.

    Args:
        g: An estimate of the average gradient; None if the check-in does not train.
        evaluated: Predictions that were counted; 0 if the check-in does not evaluate.
        errors: An unbiased estimate of how many of them were wrong.
        counted: How many were said to be wrong, noise and all, cut to 0 … `evaluated`.
        labels: An unbiased estimate of how many samples had each label.
        labelled: Samples behind `labels`.
    """

    g: Array | None = None
    evaluated: int = 0
    errors: float = 0.0
    counted: int = 0
    labels: tuple[float, ...] = ()
    labelled: int = 0


class CountedLaw(NamedTuple):
    """The law of `counted` in a reading, for a known share of wrong predictions.

    Args:
        mean: Its mean.
        noise: The variance that the mechanism's chance adds, new in each report.
        sampling: The variance of which predictions were evaluated, each wrong by itself. A person's
            reports may share it: someone for whom the model fails reports errors again and again.
    """

    mean: float
    noise: float
    sampling: float


class Implausible(InvalidInput):
    """No honest device sends this. `kind` names the rule in the protocol's words."""

    def __init__(self, kind: str, sentence: str | Phrase) -> None:
        super().__init__(sentence)
        self.kind = kind


class Mechanism(Protocol):
    """How samples are hidden, what that costs and for whom, and how the server reads the rest.

    Device, server, portal and simulator ask the mechanism of a task; none of them knows which
    one it is. A class that names this one as its base inherits what has a body here: it suits a
    mechanism whose check-ins all train.
    """

    @property
    def unit(self) -> Unit:
        """Whom the promise is for."""

    @property
    def norm(self) -> int:
        """Features are rescaled to ‖x‖ ≤ 1 in this norm, 1 or 2, if they are longer."""

    @property
    def payload_type(self) -> type[msgspec.Struct]:
        """The type of what it tells: its part of a check-in."""

    @property
    def largest_message(self) -> int:
        """The most bytes of that part as JSON."""

    @property
    def private_bytes(self) -> int:
        """The most bytes of a check-in, as it is sent, that depend on samples at all."""

    def event(self, n_samples: int, place: Place) -> CheckinEvent:
        """What a check-in of so many samples will tell: known before anything is told."""

    def role(self, place: Place) -> Role | None:
        """The role of the check-in there: a public rule. None where check-ins have no roles."""
        return None

    def make_payload(
        self, minibatch: MinibatchView, event: CheckinEvent, place: Place, chance: Chance
    ) -> msgspec.Struct:
        """Say of a minibatch exactly what the event says, and no more.

        The event is the one that the ledger has approved. It is made once for a check-in, by
        `event`, and an event of another check-in or mechanism is rejected.
        """

    def check(self, payload: Any, place: Place) -> None:
        """Raise `Implausible` unless an honest device could have sent this from there."""

    def read(self, payload: Any, place: Place) -> Reading:
        """What the server makes of it."""

    def read_all(self, payload: Sequence[Any], places: Sequence[Place]) -> Iterator[Reading]:
        """The same of each: many at once may cost less than one by one."""
        return map(self.read, payload, places)

    # What is known beforehand

    @property
    def length(self) -> float:
        """S: no gradient that is read is longer, but for its noise."""

    @property
    def noise_energy(self) -> float:
        """E‖noise‖² of a gradient that is read."""

    @property
    def lengths_vary(self) -> bool:
        """Whether some gradients that are read can be much longer than others. The server then
        limits how far one of them steps."""
        return True

    @property
    def error_variance(self) -> float:
        """Of the noise in `errors` of a reading that evaluates."""
        return 0.0

    def counted_at(self, error: float, evaluated: int) -> CountedLaw:
        """The law of `counted` if this share of `evaluated` predictions is wrong. Its mean for a
        larger share, however people differ, is no lower."""
        return CountedLaw(evaluated * error, 0.0, evaluated * error * (1 - error))

    @property
    def label_variance(self) -> float:
        """Of the noise in each of `labels`, at most."""
        return 0.0

    @property
    def evaluates(self) -> bool:
        """Whether any check-in says how well the model predicts."""
        return False

    @property
    def counts(self) -> bool:
        """Whether any check-in says what labels there are."""
        return False

    @property
    def numbers(self) -> int:
        """How many numbers of a check-in depend on samples."""
        return 1

    @property
    def truths(self) -> Mapping[Role, float]:
        """For each role of a check-in, how likely it sends a number that fits its samples best;
        empty where check-ins have no roles."""
        return {}

    @property
    def effort(self) -> int:
        """About how many steps a device takes to hide one gradient: a public number.

        A step is one product of two numbers and its sum. The time slot of a check-in grows with it,
        so that the device is ready within the slot, whatever its samples are.
        """

    # For those who look at it

    def stand_in(self, noisy: bool) -> StandIn:
        """What a simulation draws in its place."""

    def picture(self, epsilon: float, n_samples: int) -> HidingPicture:
        """How a check-in of so many samples would be hidden at another ε."""

    def show(self, payload: Any, minibatch: Watched, place: Place, labels: Sequence[str]) -> Shown:
        """What an example shows of a check-in: what was asked of the minibatch, and was sent."""

    def secrets(self, payload: Any) -> list[int]:
        """The numbers in a check-in that depend on samples."""

    def odds(
        self, payload: Sequence[Any], sides: Sequence[MinibatchView], place: Place
    ) -> dict[str, tuple[Loss, Array]]:
        """For each part of some check-ins, what it is claimed to cost, and log P/P′ of each.

        P is its probability with the first side's samples and P′ with the second's, by the law
        that is claimed. `checkin` is all of it together.
        """

"""What a mechanism is: the only door through which anything leaves a device."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Protocol

import msgspec

from crowdml.errors import InvalidInput
from crowdml.phrase import Phrase
from crowdml.privacy.chance import Chance
from crowdml.privacy.events import CheckinEvent
from crowdml.privacy.loss import Unit
from crowdml.privacy.minibatch import Minibatch
from crowdml.types import Array

__all__ = ["Implausible", "Mechanism", "Place", "Reading"]


class Place(NamedTuple):
    """Where a check-in belongs: all of it is public, and none of it chosen by the device."""

    terms_sha256: str
    device: str
    number: int


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


class Implausible(InvalidInput):
    """No honest device sends this. `kind` names the rule in the protocol's words."""

    def __init__(self, kind: str, sentence: str | Phrase) -> None:
        super().__init__(sentence)
        self.kind = kind


class Mechanism(Protocol):
    """How samples are hidden, what that costs and for whom, and how the server reads the rest.

    Device, server, portal and simulator ask the mechanism of a task; none of them knows which
    one it is.
    """

    @property
    def unit(self) -> Unit:
        """Whom the promise is for."""
        ...

    @property
    def norm(self) -> int:
        """Features are rescaled to ‖x‖ ≤ 1 in this norm, 1 or 2, if they are longer."""
        ...

    @property
    def told(self) -> type[msgspec.Struct]:
        """The type of what it tells: its part of a check-in."""
        ...

    @property
    def largest_message(self) -> int:
        """The most bytes of that part as JSON."""
        ...

    @property
    def private_bytes(self) -> int:
        """The most bytes of a check-in, as it is sent, that depend on samples at all."""
        ...

    def event(self, n_samples: int, place: Place) -> CheckinEvent:
        """What a check-in of so many samples will tell: known before anything is told."""
        ...

    def tell(
        self, minibatch: Minibatch, event: CheckinEvent, place: Place, chance: Chance
    ) -> msgspec.Struct:
        """Say of a minibatch exactly what the event says, and no more.

        The event is the one that the ledger has approved. It is made once for a check-in, by
        `event`, and an event of another check-in or mechanism is rejected.
        """
        ...

    def check(self, told: Any, place: Place) -> None:
        """Raise `Implausible` unless an honest device could have sent this from there."""
        ...

    def read(self, told: Any, place: Place) -> Reading:
        """What the server makes of it."""
        ...

    def read_all(self, told: Sequence[Any], places: Sequence[Place]) -> Iterator[Reading]:
        """The same of each: many at once may cost less than one by one."""
        ...

    @property
    def length(self) -> float:
        """S: no gradient that is read is longer, but for its noise."""
        ...

    @property
    def noise_energy(self) -> float:
        """E‖noise‖² of a gradient that is read."""
        ...

    @property
    def error_variance(self) -> float:
        """Of the noise in `errors` of a reading that evaluates."""
        ...

    def counted_at(self, error: float, evaluated: int) -> tuple[float, float]:
        """The mean of `counted` if this share of so many predictions is wrong, and its variance,
        if each is wrong by itself. A mean for a larger share, however dealt, is no lower."""
        ...

    @property
    def label_variance(self) -> float:
        """Of the noise in each of `labels`, at most."""
        ...

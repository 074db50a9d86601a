"""Keep the ledger: what a device has sent so far, and whether it may send more."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from numbers import Real

from crowdml.errors import InvalidInput, LimitReached
from crowdml.privacy.events import CheckinEvent
from crowdml.privacy.loss import Loss, within


@dataclass(frozen=True)
class Limits:
    """Hold the limits on ε that the participant allows.

    Args:
        per_sample: The limit for any single sample.
        per_device: The limit for the device, over all its check-ins.
    """

    per_sample: float
    per_device: float

    def __post_init__(self) -> None:
        for name, value in (("per_sample", self.per_sample), ("per_device", self.per_device)):
            number = isinstance(value, Real) and not isinstance(value, bool)
            if not (number and value > 0):
                raise InvalidInput(
                    f"the limit {name} must be a number above 0, found {value!r}. "
                    "To stop taking part, leave the task instead."
                )


@dataclass(frozen=True)
class Ledger:
    """Account for check-ins, append-only.

    Every sample is used in one check-in only, so over disjoint minibatches a sample costs what
    its own check-in costs (parallel composition), while for the device as a whole the check-ins
    add up (sequential composition).

    >>> from crowdml.privacy.events import MinibatchPart, NoiseEvent, Release
    >>> event = NoiseEvent(20, 0, (Release("gradient", MinibatchPart.TRAINING, 5, 0.5),))
    >>> ledger = Ledger().charge(event).charge(event)
    >>> ledger.epsilon_per_sample, ledger.epsilon_spent, ledger.epsilon_per_person
    (0.5, 1.0, 20.0)
    >>> ledger.require(event, Limits(per_sample=0.5, per_device=1.2))
    Traceback (most recent call last):
    crowdml.errors.LimitReached: the device limit is ε = 1.2; 1 is spent and a check-in costs \
0.5. Nothing more is sent; raise the limit to go on.
    """

    events: tuple[CheckinEvent, ...] = ()

    @classmethod
    def of(cls, events: Iterable[CheckinEvent]) -> "Ledger":
        """Make the ledger of these events, in the order in which they were sent."""
        return cls(tuple(events))

    @property
    def epsilon_per_sample(self) -> float:
        """Return the largest ε that any one sample has lost."""
        return max((event.loss.total for event in self.events), default=0.0)

    @property
    def epsilon_spent(self) -> float:
        """Return the ε that counts against the limit.

        It is the ε of all check-ins, or of one sample in each.
        """
        return self._spent.total

    @cached_property
    def _spent(self) -> Loss:
        return Loss.sum(event.loss for event in self.events)

    @property
    def epsilon_per_person(self) -> float:
        """Return the ε for replacing everything that was ever used: what the person has lost."""
        return Loss.sum(event.whole_loss for event in self.events).total

    def require(self, event: CheckinEvent, limits: Limits) -> None:
        """Raise `LimitReached` unless the event fits into both limits."""
        cost, spent = event.loss.total, self.epsilon_spent
        if not within(cost, limits.per_sample, cost):
            raise LimitReached(
                f"the limit for one sample is ε = {limits.per_sample:g} and a check-in costs "
                f"{cost:g}. Nothing more is sent; raise the limit to go on."
            )
        if not within((self._spent + event.loss).total, limits.per_device, cost):
            raise LimitReached(
                f"the device limit is ε = {limits.per_device:g}; {spent:g} is spent and a "
                f"check-in costs {cost:g}. Nothing more is sent; raise the limit to go on."
            )

    def charge(self, event: CheckinEvent) -> "Ledger":
        """Return a ledger with one more event; `self` does not change."""
        return Ledger((*self.events, event))

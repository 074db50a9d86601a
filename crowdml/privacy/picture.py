"""How a mechanism hides, as values that a picture can be drawn from."""

from typing import NamedTuple, TypeAlias

from crowdml.privacy.choice import Choice
from crowdml.privacy.laws import Law
from crowdml.privacy.loss import Loss


class Dial(NamedTuple):
    """One number is chosen: those that fit the samples best lie on top of a dial."""

    choice: Choice

    @property
    def numbers(self) -> int:
        """How many numbers a needle can point at."""
        return self.choice.k


class Hills(NamedTuple):
    """Noise is added to a number: two hills, one with a sample and one with another in its place.

    Args:
        loss: What the check-in costs a sample in all.
        batch: Samples in the check-in.
        shift: How far one replaced sample can move the number.
        step: The number is a whole number of these.
        sensitivity: How far one replaced sample moves all numbers, in steps and in the law's norm.
        level: ε or ρ of the noise.
    """

    law: Law
    loss: Loss
    batch: int
    shift: float
    step: float
    sensitivity: float
    level: float

    @property
    def numbers(self) -> int:
        return 0

    @property
    def scale(self) -> float:
        """The scale of the noise, in steps."""
        return self.sensitivity / self.law.strength(self.level)


HidingPicture: TypeAlias = Dial | Hills

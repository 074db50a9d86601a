"""Describe how a mechanism hides samples, as values from which a picture is drawn."""

from typing import NamedTuple, TypeAlias

from crowdml.privacy.choice import Choice
from crowdml.privacy.laws import Law
from crowdml.privacy.loss import Loss


class Dial(NamedTuple):
    """Show one chosen number on a dial, with the numbers that fit the samples best on top."""

    choice: Choice

    @property
    def numbers(self) -> int:
        """Return how many numbers the needle can point at."""
        return self.choice.k


class Hills(NamedTuple):
    """Show noise on a number as two hills: one for a sample, one for the sample in its place.

    Args:
        loss: The total cost of the check-in for one sample.
        batch: The number of samples in the check-in.
        shift: How far one replaced sample can move the number.
        step: The number is a whole number of these.
        sensitivity: How far one replaced sample moves all numbers, in steps and in the law's norm.
        level: ε or ρ of the noise.
        excess_probability: The probability that the loss exceeds its bound, at most.
    """

    law: Law
    loss: Loss
    batch: int
    shift: float
    step: float
    sensitivity: float
    level: float
    excess_probability: float

    @property
    def numbers(self) -> int:
        return 0

    @property
    def scale(self) -> float:
        """Return the scale of the noise, in steps."""
        return self.sensitivity / self.law.strength(self.level)


HidingPicture: TypeAlias = Dial | Hills

"""Record what a check-in released, as frozen events from which its cost is computed.

For noise the unit is one (x, y) sample: neighbours differ by replacing one sample, and the number
of samples in a check-in is public. For a direction the unit is the whole check-in.
"""

from enum import StrEnum
from typing import ClassVar, Protocol

import msgspec

from crowdml.phrase import Phrase
from crowdml.privacy.loss import Loss, Unit


class CheckinEvent(Protocol):
    """Record what one check-in sent. Its type is a frozen msgspec struct with a tag, by which the
    ledger finds it again."""

    @property
    def unit(self) -> Unit:
        """Return whom the promise protects."""

    @property
    def n_samples(self) -> int | None:
        """Return the number of samples that were used, where a check-in sends it."""

    @property
    def loss(self) -> Loss:
        """Return the cost for one unit."""

    @property
    def whole_loss(self) -> Loss:
        """Return the cost when everything in the check-in is replaced at once."""

    @property
    def phrase(self) -> Phrase:
        """Return what was sent, in words, for the participant's ledger."""


class Role(StrEnum):
    """Name the one thing on which a check-in of the mechanism `direction` spends all of its ε."""

    TRAIN = "train"
    EVALUATE = "evaluate"
    COUNT = "count"


class MinibatchPart(StrEnum):
    """Name the samples of the minibatch from which a released value was computed."""

    TRAINING = "training"
    HELDOUT = "heldout"
    ALL = "all"


class Release(msgspec.Struct, frozen=True):
    """Record integers that left the device with noise.

    Args:
        what: `gradient`, `errors` or `labels`.
        sensitivity: The largest change, in integer steps and in the norm of the law, when one
            sample is replaced.
        level: ε of Laplace noise, or ρ of Gaussian noise, for each sample that was used.
    """

    what: str
    part: MinibatchPart
    sensitivity: float
    level: float


class NoiseEvent(msgspec.Struct, frozen=True, tag="noise"):
    """Record everything that one check-in with noise sent.

    Args:
        n_training: Samples behind the gradient.
        n_heldout: Samples set aside for the error count.
        releases: The noisy values.
        delta: δ for Gaussian noise; 0 for Laplace noise, whose levels are pure ε.
    """

    unit: ClassVar[Unit] = Unit.SAMPLE

    n_training: int
    n_heldout: int
    releases: tuple[Release, ...]
    delta: float = 0.0

    @property
    def n_samples(self) -> int:
        return self.n_training + self.n_heldout

    @property
    def loss(self) -> Loss:
        """Compute the cost for each sample.

        Releases that used the same sample add up: ε_g + ε_e + ε_y. Training and held-out samples
        are disjoint, so with held-out samples the larger cost counts: max(ε_g, ε_e) + ε_y.

        >>> gradient = Release("gradient", MinibatchPart.TRAINING, 9, 0.5)
        >>> labels = Release("labels", MinibatchPart.ALL, 2, 0.125)
        >>> errors = Release("errors", MinibatchPart.HELDOUT, 1, 0.25)
        >>> NoiseEvent(8, 2, (gradient, errors, labels)).loss
        Loss(epsilon=0.625, rho=0.0, delta=0.0)
        """
        spent = dict.fromkeys(MinibatchPart, 0.0)
        for release in self.releases:
            spent[release.part] += release.level
        level = (
            max(spent[MinibatchPart.TRAINING], spent[MinibatchPart.HELDOUT])
            + spent[MinibatchPart.ALL]
        )
        return Loss(rho=level, delta=self.delta) if self.delta else Loss(epsilon=level)

    @property
    def whole_loss(self) -> Loss:
        """Compute the cost of replacing every sample at once, by group privacy: nε, or n²ρ."""
        return self.loss.group(self.n_samples)

    @property
    def phrase(self) -> Phrase:
        return Phrase(
            "{parts} of {n} samples, with noise",
            parts=", ".join(release.what for release in self.releases),
            n=self.n_samples,
        )


ROLE_PHRASES = {
    Role.TRAIN: Phrase("a direction for the model"),
    Role.EVALUATE: Phrase("right or wrong about one sample"),
    Role.COUNT: Phrase("the answer of one sample"),
}


class DirectionEvent(msgspec.Struct, frozen=True, tag="direction"):
    """Record that one number left the device, which hides everything in the check-in.

    Args:
        number: The number of the check-in, 1, 2, …
        role: What the number says.
        epsilon: ε for everything in the check-in at once.
    """

    unit: ClassVar[Unit] = Unit.CHECKIN
    n_samples: ClassVar[None] = None

    number: int
    role: Role
    epsilon: float

    @property
    def loss(self) -> Loss:
        return Loss(epsilon=self.epsilon)

    @property
    def whole_loss(self) -> Loss:
        return Loss(epsilon=self.epsilon)

    @property
    def phrase(self) -> Phrase:
        return ROLE_PHRASES[self.role]

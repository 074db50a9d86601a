"""Frozen facts about what was released; what they cost is computed from them alone.

The unit is one (x, y) sample. Neighbours differ by replacing one sample; the number of samples
in a check-in is public.
"""

from dataclasses import dataclass
from enum import StrEnum

__all__ = ["CheckinRelease", "LaplaceRelease", "Part"]


class Part(StrEnum):
    """Which samples of the minibatch a released value was computed from."""

    TRAINING = "training"
    HELDOUT = "heldout"
    ALL = "all"


@dataclass(frozen=True)
class LaplaceRelease:
    """Integers that left the device with discrete Laplace noise P(z) ∝ exp(−ε|z|/sensitivity).

    Args:
        what: `gradient`, `errors` or `labels`.
        part: Which samples were looked at.
        sensitivity: The largest change in L1, in integer steps, when one sample is replaced.
        epsilon: ε of this release for each sample looked at.
    """

    what: str
    part: Part
    sensitivity: int
    epsilon: float


@dataclass(frozen=True)
class CheckinRelease:
    """Everything that one check-in told the server.

    Args:
        n_training: Samples behind the gradient.
        n_heldout: Samples set aside for the error count.
        releases: The noisy values.
    """

    n_training: int
    n_heldout: int
    releases: tuple[LaplaceRelease, ...]

    @property
    def n_samples(self) -> int:
        return self.n_training + self.n_heldout

    @property
    def per_sample(self) -> float:
        """The ε that the check-in costs each of its samples.

        Releases that looked at the same sample add up; training and held-out samples are
        disjoint, so the dearer of the two counts: ε_g + ε_e + ε_y, or max(ε_g, ε_e) + ε_y with
        held-out samples.

        >>> gradient = LaplaceRelease("gradient", Part.TRAINING, 9, 0.5)
        >>> labels = LaplaceRelease("labels", Part.ALL, 2, 0.125)
        >>> CheckinRelease(8, 2, (
        ...     gradient, LaplaceRelease("errors", Part.HELDOUT, 1, 0.25), labels)).per_sample
        0.625
        >>> CheckinRelease(10, 0, (
        ...     gradient, LaplaceRelease("errors", Part.TRAINING, 1, 0.25), labels)).per_sample
        0.875
        """
        spent = dict.fromkeys(Part, 0.0)
        for release in self.releases:
            spent[release.part] += release.epsilon
        return max(spent[Part.TRAINING], spent[Part.HELDOUT]) + spent[Part.ALL]

    @property
    def whole_batch(self) -> float:
        """The ε when every sample of the check-in is replaced at once, by group privacy."""
        return self.n_samples * self.per_sample

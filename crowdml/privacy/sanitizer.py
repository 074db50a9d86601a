"""Device Routine 3: the only door through which anything leaves a device."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from crowdml.errors import InvalidInput
from crowdml.privacy.events import CheckinRelease, LaplaceRelease, Part
from crowdml.privacy.grid import choose_grid, quantize, sensitivity_steps
from crowdml.privacy.noise import NoiseSource, laplace_scale, laplace_tail
from crowdml.types import Array, Ints

__all__ = ["LARGEST_EPSILON", "SMALLEST_EPSILON", "Epsilon", "Sanitized", "Sanitizer", "Summary"]

INT32_MAX = 2**31 - 1
SMALLEST_EPSILON, LARGEST_EPSILON = 1e-6, 1e6
"""Beyond these, noise would not fit the wire's integers, or would be no noise at all."""

ONE_SAMPLE = 1
TWO_BINS = 2
IMPLAUSIBLE = 1e-9
"""An honest device exceeds a plausibility bound with at most this probability, per kind."""


@dataclass(frozen=True)
class Epsilon:
    """The privacy level of each thing that is sent; `inf` for no noise, labels 0 for none sent."""

    gradient: float
    errors: float
    labels: float

    def __post_init__(self) -> None:
        for name in ("gradient", "errors", "labels"):
            value = getattr(self, name)
            nothing_sent = name == "labels" and value == 0
            noisy = SMALLEST_EPSILON <= value <= LARGEST_EPSILON
            if not (noisy or value == math.inf or nothing_sent):
                raise InvalidInput(
                    f"epsilon for the {name} must lie in {SMALLEST_EPSILON:g} … "
                    f"{LARGEST_EPSILON:g}, found {value:g}. Use inf for no noise."
                )


@dataclass(frozen=True)
class Summary:
    """What Routine 2 computed from a minibatch. It is secret: it never leaves the device.

    Args:
        g: The average of the clipped per-sample gradients.
        n_errors: n_e.
        n_labels: n_y^k for each class; empty for a real target.
        n_training: The samples averaged in g.
        n_heldout: The samples set aside for n_e; 0 if n_e was counted on the training samples.
    """

    g: Array
    n_errors: int
    n_labels: Ints
    n_training: int
    n_heldout: int


@dataclass(frozen=True)
class Sanitized:
    """What may leave the device: integers with exact noise."""

    gradient: Ints
    grid: int
    n_errors: int
    n_labels: Ints


@dataclass(frozen=True)
class Sanitizer:
    """Bound, quantise, add noise, and say what it cost.

    Args:
        epsilon: The privacy levels.
        clip: S, the bound on every per-sample gradient.
        size: d, the number of parameters.
        regularization: λ.
        radius: R, the bound on ‖w‖₂.

    Paper: Routine 3, Eqs. (10) to (12), with the calibration of the counts corrected: a replaced
    sample changes n_e by one, and moves two label bins by one each.
    """

    epsilon: Epsilon
    clip: float
    size: int
    regularization: float = 0.0
    radius: float = 1.0

    def __post_init__(self) -> None:
        if not 0 < self.clip < math.inf:
            raise InvalidInput(
                f"the bound S on a sample's gradient must be positive and finite, found "
                f"{self.clip}. Set a clip for this model."
            )

    @property
    def largest(self) -> float:
        """The largest noiseless |g̃_j|: S from the data and λR from the parameters."""
        return self.clip + self.regularization * self.radius

    def grid(self, n_training: int) -> int:
        return choose_grid(self.clip, self.largest, n_training, self.epsilon.gradient)

    def event(self, n_training: int, n_heldout: int) -> CheckinRelease:
        """What a check-in of so many samples will have told: known before anything is."""
        errors_on = Part.HELDOUT if n_heldout else Part.TRAINING
        steps = sensitivity_steps(self.clip, n_training, self.grid(n_training), self.size)
        releases = [
            LaplaceRelease("gradient", Part.TRAINING, steps, self.epsilon.gradient),
            LaplaceRelease("errors", errors_on, ONE_SAMPLE, self.epsilon.errors),
        ]
        if self.epsilon.labels:
            releases.append(LaplaceRelease("labels", Part.ALL, TWO_BINS, self.epsilon.labels))
        return CheckinRelease(n_training, n_heldout, tuple(releases))

    def sanitize(
        self, summary: Summary, w: Array, event: CheckinRelease, noise: NoiseSource
    ) -> Sanitized:
        """Exactly the event's noise for the average gradient, the error and the label counts.

        λw is added in whole steps after the noise: it depends on public numbers only.

        Args:
            summary: The secret.
            w: The parameters it was computed on.
            event: What the ledger approved, from `event`.
            noise: Where the noise comes from.
        """
        if (event.n_training, event.n_heldout) != (summary.n_training, summary.n_heldout):
            raise InvalidInput(
                f"an event must be for the minibatch's own {summary.n_training} + "
                f"{summary.n_heldout} samples, found {event.n_training} + {event.n_heldout}."
            )
        l1_norm = np.abs(summary.g).sum()
        if summary.g.shape != (self.size,) or not l1_norm <= self.clip:
            raise InvalidInput(
                f"an average gradient must be {self.size} numbers with an L1 norm of at most "
                f"{self.clip:g}, found {summary.g.size} with {l1_norm:g}. Clip each sample first."
            )
        grid = self.grid(summary.n_training)
        secret = {
            "gradient": quantize(summary.g, grid),
            "errors": np.array([summary.n_errors]),
            "labels": summary.n_labels,
        }
        noisy = {r.what: _add_noise(secret[r.what], r, noise) for r in event.releases}
        decay = quantize(self.regularization * np.clip(w, -self.radius, self.radius), grid)
        return Sanitized(
            gradient=np.clip(noisy["gradient"] + decay, -INT32_MAX, INT32_MAX),
            grid=grid,
            n_errors=int(noisy["errors"][0]),
            n_labels=noisy.get("labels", np.zeros(0, dtype=np.int64)),
        )

    def plausible_gradient(self, n_training: int) -> int:
        """The largest integer that an honest device sends, but for a chance of 10⁻⁹."""
        noiseless = math.ceil(math.ldexp(self.largest, -self.grid(n_training))) + 2
        release = self.event(n_training, 0).releases[0]
        return min(INT32_MAX, noiseless + _tail(release, count=self.size))

    @cached_property
    def plausible_excess(self) -> tuple[int, int]:
        """How far outside 0 … n an honest error count and label count may lie."""
        releases = {r.what: r for r in self.event(1, 0).releases}
        labels = _tail(releases["labels"], count=1000) if "labels" in releases else 0
        return _tail(releases["errors"], count=1), labels


def _add_noise(values: Ints, release: LaplaceRelease, noise: NoiseSource) -> Ints:
    if math.isinf(release.epsilon):
        return values
    return noise.add_laplace(values, laplace_scale(release.sensitivity, release.epsilon))


def _tail(release: LaplaceRelease, count: int) -> int:
    if math.isinf(release.epsilon):
        return 0
    return laplace_tail(release.sensitivity / release.epsilon, IMPLAUSIBLE / count)

"""Noise on the average gradient and on counts: the paper's mechanism, and its Gaussian sister."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, ClassVar, NamedTuple

import msgspec
import numpy as np

from crowdml.errors import InvalidInput
from crowdml.privacy.chance import Chance
from crowdml.privacy.events import CheckinEvent, NoiseEvent, Part, Release
from crowdml.privacy.grid import choose_grid, quantize, sensitivity_steps
from crowdml.privacy.laws import Law
from crowdml.privacy.loss import Unit
from crowdml.privacy.mechanism import Implausible, Place, Reading
from crowdml.privacy.minibatch import Minibatch, choose
from crowdml.types import Array, Ints

__all__ = ["Levels", "NoiseMechanism", "Noisy"]

INT32_MAX = 2**31 - 1
SMALLEST, LARGEST = 1e-9, 1e6
"""Beyond these, noise would drown everything, or would be no noise at all."""

ONE_SAMPLE = 1
IMPLAUSIBLE = 1e-9
"""An honest device exceeds a plausibility bound with at most this probability, per kind."""

Count = Annotated[int, msgspec.Meta(ge=-INT32_MAX, le=INT32_MAX)]


class Levels(NamedTuple):
    """ε, or ρ, of each thing that is sent; `inf` for no noise, labels 0 for none sent."""

    gradient: float
    errors: float
    labels: float


class Noisy(msgspec.Struct, frozen=True):
    """ĝ, n_s, n̂_e and n̂_y: integers with exact noise.

    Args:
        samples: n_s, all samples of the minibatch.
        heldout: How many of them were set aside for counting errors.
        errors: n̂_e; may be negative.
        labels: n̂_y for each class; empty for a real target.
        grid: A gradient value is its integer times 2^grid.
        gradient: ĝ, as little-endian int32.
    """

    number: ClassVar[None] = None
    """Its check-ins are not counted."""

    samples: Annotated[int, msgspec.Meta(ge=1, le=1_000_000)]
    heldout: Annotated[int, msgspec.Meta(ge=0, le=1_000_000)]
    errors: Count
    labels: Annotated[tuple[Count, ...], msgspec.Meta(max_length=1000)]
    grid: Annotated[int, msgspec.Meta(ge=-1000, le=1000)]
    gradient: bytes


@dataclass(frozen=True)
class NoiseMechanism:
    """Bound, quantise, add noise, and say what it cost.

    Args:
        law: Laplace or Gaussian.
        levels: The privacy levels.
        clip: S, the bound on every per-sample gradient in the law's norm.
        size: d, the number of parameters.
        n_classes: C; 0 for a real target.
        batch: b, the least number of samples in a check-in.
        buffer: B, the most.
        heldout: The share of samples set aside for counting errors.
        regularization: λ.
        radius: R, the bound on ‖w‖₂.
        delta: δ, for Gaussian noise.

    Paper: Routine 3, Eqs. (10) to (12), with the calibration of the counts corrected: a replaced
    sample changes n_e by one, and moves two label bins by one each.
    """

    law: Law
    levels: Levels
    clip: float
    size: int
    n_classes: int = 0
    batch: int = 1
    buffer: int = 1_000_000
    heldout: float = 0.0
    regularization: float = 0.0
    radius: float = 1.0
    delta: float = 0.0

    unit: ClassVar[Unit] = Unit.SAMPLE
    told: ClassVar[type[Noisy]] = Noisy

    def __post_init__(self) -> None:
        for name, value in self.levels._asdict().items():
            nothing_sent = name == "labels" and value == 0 and not self.n_classes
            if not (SMALLEST <= value <= LARGEST or value == math.inf or nothing_sent):
                raise InvalidInput(
                    f"the level for the {name} must lie in {SMALLEST:g} … {LARGEST:g}, found "
                    f"{value:g}. Use inf for no noise."
                )
        if self.law.pure != (self.delta == 0) or not 0 <= self.delta < 1:
            raise InvalidInput(
                f"delta must be {'0' if self.law.pure else 'between 0 and 1'} for {self.law.name} "
                f"noise, found {self.delta:g}."
            )
        if not 0 < self.clip < math.inf:
            raise InvalidInput(
                f"the bound S on a sample's gradient must be positive and finite, found "
                f"{self.clip}. Set a clip for this model."
            )

    @property
    def norm(self) -> int:
        return self.law.norm

    @property
    def largest_message(self) -> int:
        return self.size * 16 // 3 + self.n_classes * 12 + 512

    @property
    def private_bytes(self) -> int:
        counts = 1 + self.n_classes
        return -(-4 * self.size // 3) * 4 + counts * len(str(self.buffer))

    @property
    def largest(self) -> float:
        """The largest noiseless |g̃_j|: S from the data and λR from the parameters."""
        return self.clip + self.regularization * self.radius

    def grid(self, n_training: int) -> int:
        strength = self.law.strength(self.levels.gradient)
        return choose_grid(self.clip, self.largest, n_training, strength)

    def _steps(self, n_training: int) -> int:
        """The sensitivity of the rounded average."""
        rounding = self.law.rounding(self.size)
        return sensitivity_steps(self.clip, n_training, self.grid(n_training), rounding)

    def n_heldout(self, n_samples: int) -> int:
        """How many of n_s samples are set aside: ⌊heldout·n_s⌋."""
        return int(self.heldout * n_samples)

    def event(self, n_samples: int, place: Place | None = None) -> NoiseEvent:
        n_heldout = self.n_heldout(n_samples)
        releases = self._releases(n_samples - n_heldout, n_heldout)
        return NoiseEvent(n_samples - n_heldout, n_heldout, releases, self.delta)

    def _releases(self, n_training: int, n_heldout: int) -> tuple[Release, ...]:
        errors_on = Part.HELDOUT if n_heldout else Part.TRAINING
        releases = (
            Release("gradient", Part.TRAINING, self._steps(n_training), self.levels.gradient),
            Release("errors", errors_on, ONE_SAMPLE, self.levels.errors),
        )
        if not self.levels.labels:
            return releases
        return (*releases, Release("labels", Part.ALL, self.law.two_bins(), self.levels.labels))

    # On the device

    def tell(
        self, minibatch: Minibatch, event: CheckinEvent, place: Place, chance: Chance
    ) -> Noisy:
        """Exactly the event's noise for the average gradient, the error and the label counts.

        Errors are counted on the held-out samples, or on all where there are none; gradients are
        averaged over the samples really used for them. λw is added in whole steps after the
        noise: it depends on public numbers only.
        """
        own = self._require_own(event, minibatch.n_samples)
        heldout = choose(own.n_samples, own.n_heldout, chance)
        g = minibatch.mean_gradient(~heldout, self.clip, self.norm)
        length = float(np.linalg.norm(g, self.norm))
        if g.shape != (self.size,) or not length <= self.clip:
            raise InvalidInput(
                f"an average gradient must be {self.size} numbers with an L{self.norm} norm of at "
                f"most {self.clip:g}, found {g.size} with {length:g}. Clip each sample first."
            )
        grid = self.grid(own.n_training)
        evaluated = heldout if own.n_heldout else ~heldout
        secret = {
            "gradient": quantize(g, grid),
            "errors": np.array([int(minibatch.mistakes()[evaluated].sum())]),
            "labels": np.bincount(minibatch.labels, minlength=self.n_classes),
        }
        noisy = {r.what: self._hide(secret[r.what], r, chance) for r in own.releases}
        decay = self.regularization * np.clip(minibatch.w, -self.radius, self.radius)
        return Noisy(
            samples=own.n_samples,
            heldout=own.n_heldout,
            errors=int(_fit(noisy["errors"])[0]),
            labels=tuple(_fit(noisy["labels"]).tolist()) if "labels" in noisy else (),
            grid=grid,
            gradient=_fit(noisy["gradient"] + quantize(decay, grid)).astype("<i4").tobytes(),
        )

    def _require_own(self, event: CheckinEvent, n_samples: int) -> NoiseEvent:
        """Raise unless the event is for this minibatch and this mechanism.

        The sensitivities count too: noise for a smaller one would hide too little.
        """
        n_heldout = self.n_heldout(n_samples)
        releases = self._releases(n_samples - n_heldout, n_heldout)
        if (
            not isinstance(event, NoiseEvent)
            or (event.n_samples, event.n_heldout) != (n_samples, n_heldout)
            or (event.releases, event.delta) != (releases, self.delta)
        ):
            raise InvalidInput(
                f"an event must be the check-in's own, for {n_samples} samples with the levels "
                f"{', '.join(f'{release.level:g}' for release in releases)}, found {event}."
            )
        return event

    def _hide(self, values: Ints, release: Release, chance: Chance) -> Ints:
        if math.isinf(release.level):
            return values
        return self.law.add(values, release.sensitivity, release.level, chance)

    # On the server

    def check(self, told: Noisy, place: Place) -> None:
        n = told.samples
        if n < self.batch:
            raise Implausible(
                "too-few-samples",
                f"samples must be at least {self.batch}, found {n}. Collect more.",
            )
        if n > self.buffer:
            raise Implausible(
                "too-many-samples",
                f"samples must be at most {self.buffer}, found {n}. Stop at the buffer.",
            )
        expected = self.n_heldout(n)
        if told.heldout != expected:
            raise Implausible(
                "wrong-heldout",
                f"heldout must be {expected} of {n} samples, found {told.heldout}.",
            )
        if len(told.labels) != self.n_classes:
            raise Implausible(
                "wrong-size",
                f"labels must be {self.n_classes} counts, found {len(told.labels)}.",
            )
        if len(told.gradient) != 4 * self.size:
            raise Implausible(
                "wrong-size",
                f"gradient must be {self.size} int32 values ({4 * self.size} bytes), found "
                f"{len(told.gradient)} bytes.",
            )
        self._check_values(told)

    def _check_values(self, told: Noisy) -> None:
        n_training = told.samples - told.heldout
        grid, bound = self._plausible(n_training)
        if told.grid != grid:
            raise Implausible(
                "wrong-grid", f"grid must be {grid} for {n_training} samples, found {told.grid}."
            )
        errors_excess, labels_excess = self.plausible_excess
        evaluated = told.heldout or told.samples
        _require("errors", told.errors, -errors_excess, evaluated + errors_excess)
        if told.labels:
            most = told.samples + labels_excess
            _require("labels", min(told.labels), -labels_excess, most)
            _require("labels", max(told.labels), -labels_excess, most)
        gradient = np.frombuffer(told.gradient, dtype="<i4")
        _require("gradient", int(np.minimum.reduce(gradient)), -bound, bound)
        _require("gradient", int(np.maximum.reduce(gradient)), -bound, bound)

    def read(self, told: Noisy, place: Place) -> Reading:
        g: Array = np.frombuffer(told.gradient, dtype="<i4") * 2.0**told.grid
        evaluated = told.heldout or told.samples
        return Reading(
            g=g,
            evaluated=evaluated,
            errors=told.errors,
            counted=min(max(told.errors, 0), evaluated),
            labels=told.labels,
            labelled=told.samples,
        )

    def read_all(self, told: Sequence[Noisy], places: Sequence[Place]) -> Iterator[Reading]:
        return map(self.read, told, places)

    # What is known beforehand

    @cached_property
    def _bounds(self) -> dict[int, tuple[int, int]]:
        return {}

    def _plausible(self, n_training: int) -> tuple[int, int]:
        """The grid and the largest integer, remembered: devices mostly send the same n."""
        known = self._bounds
        if n_training not in known:
            if len(known) > 1000:
                known.clear()
            known[n_training] = (self.grid(n_training), self.plausible_gradient(n_training))
        return known[n_training]

    def plausible_gradient(self, n_training: int) -> int:
        """The largest integer that an honest device sends, but for a chance of 10⁻⁹."""
        grid = self.grid(n_training)
        noiseless = math.ceil(math.ldexp(self.largest, -grid)) + 2
        tail = self._tail(self._steps(n_training), self.levels.gradient, self.size)
        return min(INT32_MAX, noiseless + tail)

    @cached_property
    def plausible_excess(self) -> tuple[int, int]:
        """How far outside 0 … n an honest error count and label count may lie."""
        labels = self._tail(self.law.two_bins(), self.levels.labels, 1000) if self.n_classes else 0
        return self._tail(ONE_SAMPLE, self.levels.errors, 1), labels

    def _tail(self, sensitivity: float, level: float, count: int) -> int:
        if math.isinf(level):
            return 0
        tail = self.law.tail(sensitivity / self.law.strength(level), IMPLAUSIBLE / count)
        return min(INT32_MAX, tail)

    @property
    def length(self) -> float:
        return self.clip

    def gradient_scale(self, n_training: int) -> float:
        """The scale of the law of the noise in each number of a gradient."""
        steps = self._steps(n_training) / self.law.strength(self.levels.gradient)
        return math.ldexp(steps, self.grid(n_training))

    @cached_property
    def noise_energy(self) -> float:
        n_training = self.batch - self.n_heldout(self.batch)
        step = 2.0 ** self.grid(n_training)
        return self.size * self._variance(self._steps(n_training), self.levels.gradient) * step**2

    @cached_property
    def error_variance(self) -> float:
        return self._variance(ONE_SAMPLE, self.levels.errors)

    def counted_at(self, error: float, evaluated: int) -> tuple[float, float]:
        """Cut noise pushes a count towards the middle, and the more the nearer it is to an end:
        below half of n the mean is convex in the true count, so that devices which differ have a
        higher mean than if all were alike."""
        n, m = evaluated, error * evaluated
        sampling = n * error * (1 - error)
        if math.isinf(self.levels.errors):
            return m, sampling
        scale = ONE_SAMPLE / self.law.strength(self.levels.errors)
        low, low_square = self.law.excess(scale, m)
        high, high_square = self.law.excess(scale, n - m)
        mean = m + low - high
        square = m**2 + self.error_variance - low_square - high_square - 2 * n * high
        return mean, max(square - mean**2, 0.0) + sampling

    @cached_property
    def label_variance(self) -> float:
        return self._variance(self.law.two_bins(), self.levels.labels) if self.n_classes else 0.0

    def _variance(self, sensitivity: float, level: float) -> float:
        if math.isinf(level):
            return 0.0
        return self.law.variance(sensitivity / self.law.strength(level))


def _fit(values: Ints) -> Ints:
    return np.clip(values, -INT32_MAX, INT32_MAX)


def _require(name: str, value: int, low: int, high: int) -> None:
    if not low <= value <= high:
        raise Implausible("implausible", f"{name} must lie in {low} … {high}, found {value}.")

"""Compute the cost, the scale and the plausible range of noise from public numbers."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import ClassVar, NamedTuple

from crowdml.errors import InvalidInput
from crowdml.privacy.checkin_key import CheckinKey
from crowdml.privacy.events import MinibatchPart, NoiseEvent, Release
from crowdml.privacy.laws import Law
from crowdml.privacy.loss import Unit
from crowdml.privacy.mechanism import ErrorCountLaw, Mechanism
from crowdml.privacy.noise.grid import choose_grid, sensitivity_steps

INT32_MAX = 2**31 - 1
SMALLEST_LEVEL, LARGEST_LEVEL = 1e-9, 1e6
"""Beyond these, noise would hide everything, or would always be 0."""

ONE_SAMPLE = 1
STEPS_OF_NOISE = 100
"""The work for one number of noise, with room: see `Mechanism.operations`."""

IMPLAUSIBLE = 1e-9
"""An honest device exceeds a plausibility bound with at most this probability, per kind."""


class NoiseLevels(NamedTuple):
    """Hold ε, or ρ, of each value that is sent: `inf` for no noise, 0 for no label counts."""

    gradient: float
    errors: float
    labels: float


@dataclass(frozen=True)
class NoiseCalibration(Mechanism):
    """Calibrate noise to the sensitivity of what is sent.

    Args:
        clip: S, the bound on every per-sample gradient in the law's norm.
        size: d, the number of parameters.
        n_classes: C; 0 for a real target.
        batch: b, the least number of samples in a check-in.
        buffer: B, the most.
        heldout: The share of samples set aside for counting errors.
        regularization: λ.
        radius: R, the bound on ‖w‖₂.
        delta: δ, for Gaussian noise.

    Paper: Eqs. (10) to (12), with the calibration of the counts corrected: a replaced
    sample changes n_e by one, and moves two label bins by one each.
    """

    law: Law
    levels: NoiseLevels
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

    def __post_init__(self) -> None:
        for name, value in self.levels._asdict().items():
            nothing_sent = name == "labels" and value == 0 and not self.n_classes
            if not (SMALLEST_LEVEL <= value <= LARGEST_LEVEL or value == math.inf or nothing_sent):
                raise InvalidInput(
                    f"the level for the {name} must lie in {SMALLEST_LEVEL:g} … "
                    f"{LARGEST_LEVEL:g}, found {value:g}. Use inf for no noise."
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
    def largest_payload(self) -> int:
        return self.size * 16 // 3 + self.n_classes * 12 + 512

    @property
    def private_bytes(self) -> int:
        counts = 1 + self.n_classes
        return -(-4 * self.size // 3) * 4 + counts * len(str(self.buffer))

    @property
    def largest(self) -> float:
        """Return the largest |g̃_j| without noise: S from the data and λR from the parameters."""
        return self.clip + self.regularization * self.radius

    def grid(self, n_training: int) -> int:
        strength = self.law.strength(self.levels.gradient)
        return choose_grid(self.clip, self.largest, n_training, strength)

    def _steps(self, n_training: int) -> int:
        """Return the sensitivity of the rounded average, in steps."""
        rounding = self.law.rounding(self.size)
        return sensitivity_steps(self.clip, n_training, self.grid(n_training), rounding)

    def n_heldout(self, n_samples: int) -> int:
        """Return how many of n_s samples are held out: ⌊heldout·n_s⌋."""
        return int(self.heldout * n_samples)

    def event(self, n_samples: int, key: CheckinKey | None = None) -> NoiseEvent:
        n_heldout = self.n_heldout(n_samples)
        n_training = n_samples - n_heldout
        errors_on = MinibatchPart.HELDOUT if n_heldout else MinibatchPart.TRAINING
        releases = [
            Release(
                "gradient", MinibatchPart.TRAINING, self._steps(n_training), self.levels.gradient
            ),
            Release("errors", errors_on, ONE_SAMPLE, self.levels.errors),
        ]
        if self.levels.labels:
            releases.append(
                Release("labels", MinibatchPart.ALL, self.law.two_bins(), self.levels.labels)
            )
        return NoiseEvent(n_training, n_heldout, tuple(releases), self.delta)

    @cached_property
    def _plausible(self) -> Callable[[int], tuple[int, int]]:
        """Look up the grid and the largest plausible integer for n_training samples, cached."""
        return lru_cache(maxsize=1000)(lambda n: (self.grid(n), self.plausible_gradient(n)))

    def plausible_gradient(self, n_training: int) -> int:
        """Return the integer that an honest device exceeds with probability 10⁻⁹ at most."""
        grid = self.grid(n_training)
        noiseless = math.ceil(math.ldexp(self.largest, -grid)) + 2
        tail = self._tail(self._steps(n_training), self.levels.gradient, self.size)
        return min(INT32_MAX, noiseless + tail)

    def largest_plausible(self, n_training: int) -> float:
        """Return the largest plausible value as a number of the gradient."""
        return math.ldexp(self.plausible_gradient(n_training), self.grid(n_training))

    @cached_property
    def plausible_excess(self) -> tuple[int, int]:
        """Return how far outside 0 … n an honest error count and an honest label count may lie."""
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

    @property
    def counts_share(self) -> float:
        """Return 1 with held-out samples, which are in no gradient."""
        gradient, errors, labels = self.levels
        return 1.0 if self.heldout else (errors + labels) / (gradient + errors + labels)

    def gradient_scale(self, n_training: int) -> float:
        """Return the scale of the noise in each number of a gradient."""
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

    def error_count_law(self, error: float, evaluated: int) -> ErrorCountLaw:
        """Return the law of a noisy count that is cut to 0 … n.

        Cutting pushes a count towards the middle, and more strongly near the ends. Below n/2 the
        mean is convex in the true count, so devices that differ have a higher mean than devices
        that are alike.
        """
        n, m = evaluated, error * evaluated
        sampling = n * error * (1 - error)
        if math.isinf(self.levels.errors):
            return ErrorCountLaw(m, 0.0, sampling)
        scale = ONE_SAMPLE / self.law.strength(self.levels.errors)
        low, low_square = self.law.excess(scale, m)
        high, high_square = self.law.excess(scale, n - m)
        mean = m + low - high
        square = m**2 + self.error_variance - low_square - high_square - 2 * n * high
        return ErrorCountLaw(mean, max(square - mean**2, 0.0), sampling)

    @cached_property
    def label_variance(self) -> float:
        return self._variance(self.law.two_bins(), self.levels.labels) if self.n_classes else 0.0

    def _variance(self, sensitivity: float, level: float) -> float:
        if math.isinf(level):
            return 0.0
        return self.law.variance(sensitivity / self.law.strength(level))

    @property
    def evaluates(self) -> bool:
        return True

    @property
    def counts_labels(self) -> bool:
        return self.n_classes > 0

    @property
    def numbers(self) -> int:
        return self.size + 1 + self.n_classes

    @property
    def operations(self) -> int:
        return STEPS_OF_NOISE * self.numbers

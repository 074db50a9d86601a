"""Draw noise for a simulation: real numbers of the same law."""

import math
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from crowdml.privacy.loss import Loss
from crowdml.privacy.stand_in import StandIn
from crowdml.types import Array, Ints

if TYPE_CHECKING:
    from crowdml.privacy.noise.mechanism import NoiseMechanism


class NoiseStandIn(StandIn):
    """Draw g + z, with one independent number z for each number of g."""

    mechanism: "NoiseMechanism"

    def __init__(self, mechanism: "NoiseMechanism", noisy: bool) -> None:
        super().__init__(mechanism, noisy, mechanism.clip)
        self.law = mechanism.law.name

    @property
    def length(self) -> float:
        return self.clip

    def scale(self, n_samples: int) -> float:
        return self.mechanism.gradient_scale(n_samples) if self.noisy else 0.0

    def draws(self, n_checkins: int, rng: np.random.Generator) -> Array:
        return np.zeros((n_checkins, 1))

    def lies(self, sizes: Ints, rng: np.random.Generator) -> Array:
        """Return the largest number that a server accepts; draws of 0 mark honest check-ins."""
        found, places = np.unique(sizes, return_inverse=True)
        most = [self.mechanism.largest_plausible(n) for n in found.tolist()]
        return np.array(most)[places][:, None]

    def hide(self, g: Array, n_samples: int, draws: Array, rng: np.random.Generator) -> Array:
        scale = self.scale(n_samples)
        if draws[0] > 0:
            against: Array = -np.sign(g) * draws[0]
            return against
        return g if scale == 0 else g + self.mechanism.law.simulate(len(g), scale, rng)

    def losses(self, n_samples: int) -> tuple[Loss, Loss]:
        """Return the losses of the values that have noise; a level of inf means no noise."""
        if not self.noisy:
            return super().losses(n_samples)
        event = self.mechanism.event(n_samples)
        sent = tuple(one for one in event.releases if not math.isinf(one.level))
        event = msgspec.structs.replace(event, releases=sent)
        return event.loss, event.whole_loss

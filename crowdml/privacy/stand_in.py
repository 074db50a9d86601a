"""Draw what a mechanism makes of an average gradient, for simulations: same law, fast numbers."""

import math
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from crowdml.privacy.checkin_key import CheckinKey
from crowdml.privacy.loss import Loss
from crowdml.types import Array, Ints

if TYPE_CHECKING:
    import numpy as np

    from crowdml.privacy.mechanism import Mechanism

UNLIMITED = 1e30
"""Larger than any gradient, and still finite in single precision."""

NOWHERE = CheckinKey("", "", 1)
"""A simulated check-in has no codebook, so any key will do."""


class StandIn(ABC):
    """Draw gradients as the server of a simulation reads them, by the law of a mechanism.

    Fast pseudo-random numbers replace the mechanism's randomness. Without noise the server gets
    the mean of what the mechanism would send.

    Args:
        noisy: Whether gradients are hidden.
        clip: S of one sample's gradient; `UNLIMITED` for none.
    """

    law: str = ""
    """The law's name in the compiled fold; empty if the compiled fold does not have the law."""

    def __init__(self, mechanism: "Mechanism", noisy: bool, clip: float = UNLIMITED) -> None:
        self.mechanism = mechanism
        self.noisy = noisy
        self.clip = clip

    @property
    def lengths_vary(self) -> bool:
        return self.mechanism.lengths_vary

    @property
    def norm(self) -> int:
        return self.mechanism.norm

    @property
    def length(self) -> float:
        return self.mechanism.length

    @property
    def noise_energy(self) -> float:
        return self.mechanism.noise_energy if self.noisy else 0.0

    def scale(self, n_samples: int) -> float:
        """Return the scale of the noise in an average of `n_samples` gradients; 0 for no noise."""
        return 0.0

    @abstractmethod
    def draws(self, n_checkins: int, rng: "np.random.Generator") -> Array:
        """Draw the random numbers that do not grow with the parameters, a row per check-in."""

    @abstractmethod
    def lies(self, sizes: Ints, rng: "np.random.Generator") -> Array:
        """Return the `draws` of liars, a row for each check-in of `sizes` samples.

        With these rows, `hide` pushes against g as hard as a server accepts.
        """

    @abstractmethod
    def hide(self, g: Array, n_samples: int, draws: Array, rng: "np.random.Generator") -> Array:
        """Compute ĝ from the average gradient of one check-in."""

    @property
    def ranked(self) -> int:
        """Return how many codewords a check-in draws and ranks; 0 for none."""
        return 0

    def losses(self, n_samples: int) -> tuple[Loss, Loss]:
        """Return the cost of a check-in for each of its samples, and for all of them at once."""
        if not self.noisy:
            return Loss(epsilon=math.inf), Loss(epsilon=math.inf)
        event = self.mechanism.event(n_samples, NOWHERE)
        return event.loss, event.whole_loss

"""What a mechanism makes of an average gradient, in law: no codebook, no integers, no secrets."""

import math
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from crowdml.privacy.loss import Loss
from crowdml.privacy.place import Place
from crowdml.types import Array, Ints

if TYPE_CHECKING:
    import numpy as np

    from crowdml.privacy.mechanism import Mechanism

UNLIMITED = 1e30
"""Larger than any gradient, and still finite in single precision."""

NOWHERE = Place("", "", 1)
"""A simulated check-in has no codebook, so it comes from no place in particular."""


class StandIn(ABC):
    """How gradients reach the server of a simulation: by a mechanism, asked about itself.

    Fast pseudo-random numbers stand for its chance. Without noise the server gets what it gets on
    average.

    Args:
        noisy: Whether anything is hidden.
        clip: S of one sample's gradient; `UNLIMITED` for none.
    """

    law: str = ""
    """Its name in the compiled fold; empty if that does not have it."""

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
        """Of the noise in each number of an average of so many gradients; 0 for none."""
        return 0.0

    @abstractmethod
    def draws(self, n_checkins: int, rng: "np.random.Generator") -> Array:
        """All chance that is not one number per parameter, a row for each check-in."""

    @abstractmethod
    def lies(self, sizes: Ints, rng: "np.random.Generator") -> Array:
        """The `draws` of liars, a row for each check-in of `sizes` samples: with these rows,
        `hide` pushes against g as hard as an honest device might by chance."""

    @abstractmethod
    def hide(self, g: Array, n_samples: int, draws: Array, rng: "np.random.Generator") -> Array:
        """ĝ, from the average gradient of one check-in."""

    @property
    def ranked(self) -> int:
        """How many codewords a check-in draws and ranks; 0 for none."""
        return 0

    @property
    def constants(self) -> tuple[float, ...]:
        """What else the law has that a program in another language needs to know."""
        return ()

    def losses(self, n_samples: int) -> tuple[Loss, Loss]:
        """What a check-in of so many samples costs each of them, and all of them at once."""
        if not self.noisy:
            return Loss(epsilon=math.inf), Loss(epsilon=math.inf)
        event = self.mechanism.event(n_samples, NOWHERE)
        return event.loss, event.whole_loss

"""What a mechanism makes of an average gradient, in law: no codebook, no integers, no secrets."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtri

from crowdml.errors import InvalidInput
from crowdml.privacy import Choice, DirectionMechanism, Loss, Mechanism, NoiseMechanism, Place
from crowdml.types import Array

__all__ = ["UNLIMITED", "Hiding", "draw_pulls", "hiding_of"]

UNLIMITED = 1e30
"""Larger than any gradient, and still finite in single precision."""

NOWHERE = Place("", "", 1)
"""A simulated check-in has no codebook, so it comes from no place in particular."""


class Hiding(ABC):
    """How gradients reach the server: the device's own mechanism, asked for what it says of itself.

    Fast pseudo-random numbers stand for its chance. Without noise the server gets what it gets on
    average.
    """

    law: str
    """Its name in the kernel."""

    mechanism: Mechanism
    noisy: bool

    @property
    def norm(self) -> int:
        return self.mechanism.norm

    @property
    def length(self) -> float:
        return self.mechanism.length

    @property
    def noise_energy(self) -> float:
        return self.mechanism.noise_energy if self.noisy else 0.0

    @property
    @abstractmethod
    def clip(self) -> float:
        """S of one sample's gradient; `UNLIMITED` for none."""

    @abstractmethod
    def scale(self, n_samples: int) -> float:
        """Of the noise in each number of an average of so many gradients; 0 for none."""

    @abstractmethod
    def draws(self, n_checkins: int, rng: np.random.Generator) -> Array:
        """All chance that is not one number per parameter, a row for each check-in."""

    @abstractmethod
    def hide(self, g: Array, n_samples: int, draws: Array, rng: np.random.Generator) -> Array:
        """ĝ, from the average gradient of one check-in."""

    def losses(self, n_samples: int) -> tuple[Loss, Loss]:
        """What a check-in of so many samples costs each of them, and all of them at once."""
        if not self.noisy:
            return Loss(epsilon=math.inf), Loss(epsilon=math.inf)
        event = self.mechanism.event(n_samples, NOWHERE)
        return event.loss, event.whole_loss


@dataclass(frozen=True)
class Noise(Hiding):
    """g + z, with as many independent numbers z as g has."""

    mechanism: NoiseMechanism
    noisy: bool

    @property
    def law(self) -> str:  # type: ignore[override]
        return self.mechanism.law.name

    @property
    def clip(self) -> float:
        return self.mechanism.clip

    def scale(self, n_samples: int) -> float:
        return self.mechanism.gradient_scale(n_samples) if self.noisy else 0.0

    def draws(self, n_checkins: int, rng: np.random.Generator) -> Array:
        return np.zeros((n_checkins, 0))

    def hide(self, g: Array, n_samples: int, draws: Array, rng: np.random.Generator) -> Array:
        scale = self.scale(n_samples)
        if scale == 0:
            return g
        draw = rng.laplace if self.law == "laplace" else rng.normal
        return g + draw(0.0, scale, len(g))

    def losses(self, n_samples: int) -> tuple[Loss, Loss]:
        """Of the gradient alone: counts are for watching a live task."""
        if not self.noisy:
            return super().losses(n_samples)
        event = self.mechanism.event(n_samples)
        event = replace(event, releases=event.releases[:1])
        return event.loss, event.whole_loss


@dataclass(frozen=True)
class Direction(Hiding):
    """S·v/m, where v is a codeword as the server sees it.

    Of k standard normal vectors the one with the r-th largest ⟨v, u⟩ is z·u/‖u‖ plus a standard
    normal vector orthogonal to u, and Φ(z) is the r-th largest of k uniform numbers, whose law is
    Beta(k + 1 − r, r). So one codeword is enough, and no other needs to be drawn.
    """

    mechanism: DirectionMechanism
    noisy: bool

    law = "direction"
    clip = UNLIMITED

    def scale(self, n_samples: int) -> float:
        return self.length / self.mechanism.choice.pull if self.noisy else 0.0

    def draws(self, n_checkins: int, rng: np.random.Generator) -> Array:
        """z, and a uniform number that decides whether a short gradient is turned round."""
        if not self.noisy:
            return np.zeros((n_checkins, 2))
        pulls = draw_pulls(self.mechanism.choice, n_checkins, rng)
        return np.stack([pulls, rng.random(n_checkins)], axis=1)

    def hide(self, g: Array, n_samples: int, draws: Array, rng: np.random.Generator) -> Array:
        norm = float(np.linalg.norm(g))
        if not self.noisy:
            return g * min(1.0, self.length / norm) if norm > 0 else g
        pull, coin = draws
        if coin < (1 - min(1.0, norm / self.length)) / 2:
            pull = -pull
        v = rng.standard_normal(len(g))
        if norm > 0:
            towards = g / norm
            v = v + (pull - v.dot(towards)) * towards
        hidden: Array = self.scale(n_samples) * v
        return hidden


def draw_pulls(choice: Choice, n: int, rng: np.random.Generator) -> Array:
    """z of n chosen codewords: ranks as the mechanism draws them, then their normal quantiles."""
    k, t, p = choice.k, choice.t, choice.p
    u = rng.random(n)  # below p, u/p is uniform again; above it, (u − p)/(1 − p) is
    best, others = u * (t / p), (u - p) * ((k - t) / (1 - p))
    rank = 1 + np.where(u < p, np.minimum(best, t - 1), np.minimum(t + others, k - 1)).astype(int)
    z: Array = -ndtri(rng.beta(rank, k + 1 - rank))  # precise where z is large
    return z


def hiding_of(mechanism: Mechanism, noisy: bool) -> Hiding:
    if isinstance(mechanism, DirectionMechanism):
        return Direction(mechanism, noisy)
    if isinstance(mechanism, NoiseMechanism):
        return Noise(mechanism, noisy)
    raise InvalidInput(f"the simulator knows no law for {type(mechanism).__name__}.")

"""A direction as a simulation draws it: one codeword that stands for all k of them."""

from typing import TYPE_CHECKING

import numpy as np

from crowdml.privacy.choice import Choice
from crowdml.privacy.stand_in import StandIn
from crowdml.types import Array

if TYPE_CHECKING:
    from crowdml.privacy.direction import DirectionMechanism

__all__ = ["DirectionStandIn", "draw_pulls"]


class DirectionStandIn(StandIn):
    """S·v/m, where v is a codeword as the server sees it.

    Of k standard normal vectors the one with the r-th largest ⟨v, u⟩ is z·u/‖u‖ plus a standard
    normal vector orthogonal to u, and Φ(z) is the r-th largest of k uniform numbers, whose law is
    Beta(k + 1 − r, r). So one codeword is enough, and no other needs to be drawn.
    """

    law = "direction"
    mechanism: "DirectionMechanism"

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

    @property
    def constants(self) -> tuple[float, ...]:
        choice = self.mechanism.choice
        return choice.k, choice.t, choice.p


def draw_pulls(choice: Choice, n: int, rng: np.random.Generator) -> Array:
    """z of n chosen codewords: ranks as the mechanism draws them, then their normal quantiles."""
    from scipy.special import ndtri  # only the simulator's extra has it

    k, t, p = choice.k, choice.t, choice.p
    u = rng.random(n)  # below p, u/p is uniform again; above it, (u − p)/(1 − p) is
    best, others = u * (t / p), (u - p) * ((k - t) / (1 - p))
    rank = 1 + np.where(u < p, np.minimum(best, t - 1), np.minimum(t + others, k - 1)).astype(int)
    z: Array = -ndtri(rng.beta(rank, k + 1 - rank))  # precise where z is large
    return z

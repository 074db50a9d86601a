"""Draw a direction for a simulation: one codeword in place of all k codewords."""

import math
from typing import TYPE_CHECKING

import numpy as np

from crowdml.privacy.choice import Choice
from crowdml.privacy.direction.codebook import CODE_MEAN, CODE_VARIANCE
from crowdml.privacy.stand_in import StandIn
from crowdml.types import Array, Ints

if TYPE_CHECKING:
    from crowdml.privacy.direction.mechanism import DirectionMechanism

FEW_PARAMETERS = 24
"""With this many parameters or fewer, sums of a codeword's numbers are not yet normal: all k
codewords are drawn."""


class DirectionStandIn(StandIn):
    """Draw S·v/m, where v is a codeword with the law that the server sees.

    Of k standard normal vectors the one with the r-th largest ⟨v, u⟩ is z·u/‖u‖ plus a standard
    normal vector orthogonal to u, and Φ(z) is the r-th largest of k uniform numbers, whose law is
    Beta(k + 1 − r, r). So one codeword is enough, and no other needs to be drawn.

    Real codewords are small integers. With at most `FEW_PARAMETERS`, k of them are drawn and
    ranked, as on a device. With more parameters, normal codewords are close enough if the gradient
    is spread over them (experiments/figures/README.md). A real server reads a gradient in one of
    many numbers up to 13 % too short for k = 1,024, and up to 22 % for k = 4,096; this stand-in
    reads it at its full length.
    """

    law = "direction"
    mechanism: "DirectionMechanism"

    @property
    def ranked(self) -> int:
        """Return how many codewords are drawn and ranked; 0 if one stands for all of them."""
        return self.mechanism.directions if self.mechanism.size <= FEW_PARAMETERS else 0

    def scale(self, n_samples: int) -> float:
        return self.length / self.mechanism.choice.pull if self.noisy else 0.0

    def draws(self, n_checkins: int, rng: np.random.Generator) -> Array:
        """Draw z, or the rank r, and a uniform number by which a short gradient may be reversed."""
        if not self.noisy:
            return np.zeros((n_checkins, 2))
        drawn = draw_ranks if self.ranked else draw_pulls
        first = drawn(self.mechanism.choice, n_checkins, rng)
        return np.stack([first, rng.random(n_checkins)], axis=1)

    def lies(self, sizes: Ints, rng: np.random.Generator) -> Array:
        """Send the codeword that is farthest from g, never reversed."""
        k, n = self.mechanism.directions, len(sizes)
        ranks = np.full(n, k)
        farthest = ranks if self.ranked else normal_pulls(ranks, k, rng)
        return np.stack([farthest, np.ones(n)], axis=1)

    def hide(self, g: Array, n_samples: int, draws: Array, rng: np.random.Generator) -> Array:
        norm = float(np.linalg.norm(g))
        if not self.noisy:
            return g * min(1.0, self.length / norm) if norm > 0 else g
        first, coin = draws
        turned = coin < (1 - min(1.0, norm / self.length)) / 2
        if self.ranked:
            return self.scale(n_samples) * self._codeword(-g if turned else g, int(first), rng)
        v = rng.standard_normal(len(g))
        if norm > 0:
            towards = g / norm
            v = v + ((-first if turned else first) - v.dot(towards)) * towards
        hidden: Array = self.scale(n_samples) * v
        return hidden

    def _codeword(self, g: Array, rank: int, rng: np.random.Generator) -> Array:
        """Draw k codewords, rank them by g, and return the codeword of this rank."""
        drawn = rng.integers(256, size=(self.ranked, len(g)), dtype=np.uint8)
        book = np.bitwise_count(drawn).astype(np.float64) - CODE_MEAN
        chosen = np.argpartition(-(book @ g), rank - 1)[rank - 1]
        codeword: Array = book[chosen] / math.sqrt(CODE_VARIANCE)
        return codeword


def draw_ranks(choice: Choice, n: int, rng: np.random.Generator) -> Ints:
    """Draw the ranks of n chosen codewords, 1 for the closest."""
    k, t, p = choice.k, choice.t, choice.p
    u = rng.random(n)  # below p, u/p is uniform again; above it, (u − p)/(1 − p) is
    best, others = u * (t / p), (u - p) * ((k - t) / (1 - p))
    rank = np.where(u < p, np.minimum(best, t - 1), np.minimum(t + others, k - 1))
    return 1 + rank.astype(np.int64)


def draw_pulls(choice: Choice, n: int, rng: np.random.Generator) -> Array:
    """Draw z of n chosen codewords: first their ranks, then the normal quantiles of the ranks."""
    return normal_pulls(draw_ranks(choice, n, rng), choice.k, rng)


def normal_pulls(ranks: Ints, k: int, rng: np.random.Generator) -> Array:
    """Draw z of codewords with these ranks among k."""
    from scipy.special import ndtri  # only the simulator's extra installs SciPy

    z: Array = -ndtri(rng.beta(ranks, k + 1 - ranks))  # this form is precise where z is large
    return z

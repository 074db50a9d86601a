"""Choose one number of k at random, in integers: all randomness of the direction mechanism."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache

import numpy as np

from crowdml.errors import InvalidInput
from crowdml.privacy.chance import RandomIndex
from crowdml.types import Array, Ints

COIN = 2**64
SMALLEST_CHOICE, LARGEST_CHOICE = 1e-13, 40.0
"""Beyond these the coin's 64 bits would be too coarse, or it would always fall the same way."""


@dataclass(frozen=True)
class Choice:
    """Choose one of the t best of k numbers with probability p, otherwise one of the k − t others.

    Whichever numbers are best, each number is chosen with probability p/t or (1 − p)/(k − t). So
    for any two data sets the probabilities of a number differ by a factor of at most
    p(k − t)/((1 − p)t) ≤ e^ε. That is the whole proof.

    Reference: Isik, Chen, Özgür, Weissman, No, NeurIPS 2023.

    >>> choice = Choice(k=1024, t=67, epsilon=4.0)
    >>> round(choice.p, 4), round(choice.pull, 4), round(choice.leverage, 2)
    (0.7926, 1.5128, 2.15)
    """

    k: int
    t: int
    epsilon: float

    def __post_init__(self) -> None:
        if not 1 <= self.t < self.k:
            raise InvalidInput(f"t must lie in 1 … {self.k - 1}, found {self.t}.")
        if not SMALLEST_CHOICE <= self.epsilon <= LARGEST_CHOICE:
            raise InvalidInput(
                f"epsilon of a check-in must lie in {SMALLEST_CHOICE:g} … {LARGEST_CHOICE:g} for "
                f"this mechanism, found {self.epsilon:g}."
            )

    @cached_property
    def coin(self) -> int:
        """Return p in units of 2⁻⁶⁴, rounded down, so that the true ε is at most the charged ε.

        e^ε is taken slightly too small, because exp of a float may be off by one unit in the last
        place.
        """
        odds = Fraction(math.exp(self.epsilon)) * Fraction(1 - 2.0**-50)
        p = self.t * odds / (self.t * odds + self.k - self.t)
        return math.floor(p * COIN)

    @property
    def p(self) -> float:
        return self.coin / COIN

    @property
    def likely(self) -> float:
        """Return the probability of each of the t best numbers."""
        return self.p / self.t

    @property
    def unlikely(self) -> float:
        """Return the probability of each of the other numbers."""
        return (COIN - self.coin) / COIN / (self.k - self.t)

    @cached_property
    def pull(self) -> float:
        """Return m, the mean of the number that is chosen from k standard normal numbers."""
        top = float(_normal_order(self.k)[: self.t].mean())
        return top * (self.p - (1 - self.p) * self.t / (self.k - self.t))

    @property
    def leverage(self) -> float:
        """Return how many times as far as an honest device a liar pushes w on average.

        A liar always names the largest number, which gives 3.25/m for k = 1024. Divide by
        E min(1, ‖u‖/S) where the gradients u of honest devices are shorter than S.
        """
        return float(_normal_order(self.k)[0]) / self.pull

    def choose(self, order: Ints, chance: RandomIndex) -> int:
        """Draw the number to send.

        Args:
            order: All k numbers, the t best first.
        """
        if chance.below(COIN) < self.coin:
            return int(order[chance.below(self.t)])
        return int(order[self.t + chance.below(self.k - self.t)])


@lru_cache(maxsize=64)
def best_closest(k: int, epsilon: float) -> int:
    """Return the t with the largest pull.

    >>> best_closest(1024, 4.0), best_closest(256, 1.0), best_closest(1024, 10.0)
    (67, 89, 1)
    """
    t = np.arange(1, k)
    top = np.cumsum(_normal_order(k))[:-1] / t
    p = t / (t + (k - t) * math.exp(-epsilon))
    return int(t[np.argmax(top * (p - (1 - p) * t / (k - t)))])


@lru_cache(maxsize=16)
def _normal_order(k: int) -> Array:
    """Compute the means of k sorted standard normal numbers, the largest first.

    E[z_(r)] = k·C(k−1, r−1)·∫ z·φ(z)·(1−Φ(z))^(r−1)·Φ(z)^(k−r) dz, by the trapezoidal rule.
    """
    z = np.linspace(-9.0, 9.0, 1201)
    erfc: Callable[[float], float] = math.erfc
    above = np.array([erfc(v / math.sqrt(2)) / 2 for v in z])
    below = above[::-1]
    r = np.arange(1, k + 1)[:, None]
    log_factorial = np.array([math.lgamma(n + 1) for n in range(k + 1)])
    log_count = log_factorial[k] - log_factorial[r - 1] - log_factorial[k - r]
    log_law = log_count + (r - 1) * np.log(above) + (k - r) * np.log(below) - z * z / 2
    law = np.exp(log_law - math.log(2 * math.pi) / 2)
    means: Array = (law * z).sum(axis=1) * (z[1] - z[0])
    return means

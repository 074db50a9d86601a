"""Pass all randomness of a device in as one object."""

import secrets
from typing import Protocol

from crowdml.privacy.noise_source import ExactNoise, NoiseSource


class RandomIndex(Protocol):
    """Draw random indices."""

    def below(self, n: int) -> int:
        """Draw an integer 0 … n−1, all equally likely."""


class Chance(RandomIndex, NoiseSource, Protocol):
    """Draw noise, indices and ids."""

    def random_id(self) -> str:
        """Draw 128 random bits, written as 22 letters, digits, `-` and `_`."""


class SystemChance(ExactNoise):
    """Draw everything from the operating system's secure generator.

    >>> chance = SystemChance()
    >>> chance.below(1), len(chance.random_id())
    (0, 22)
    """

    def below(self, n: int) -> int:
        return secrets.randbelow(n)

    def random_id(self) -> str:
        return secrets.token_urlsafe(16)

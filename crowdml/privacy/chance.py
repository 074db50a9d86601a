"""All that is random on a device, behind one object that is passed in."""

import secrets
from typing import Protocol

from crowdml.privacy.noise import ExactNoise, NoiseSource


class Below(Protocol):
    """Where random indices come from."""

    def below(self, n: int) -> int:
        """An integer 0 … n−1, all equally likely."""


class Chance(Below, NoiseSource, Protocol):
    """Noise, indices and ids."""

    def token(self) -> str:
        """128 random bits as 22 letters, digits, `-` and `_`."""


class SystemChance(ExactNoise):
    """Everything from the operating system's secure generator.

    >>> chance = SystemChance()
    >>> chance.below(1), len(chance.token())
    (0, 22)
    """

    def below(self, n: int) -> int:
        return secrets.randbelow(n)

    def token(self) -> str:
        return secrets.token_urlsafe(16)

"""Provide randomness that adds zero, always draws the first, and records every request."""

import numpy as np

from crowdml.types import Ints


class RecordingChance:
    """Record the law, the values and the scale of every noise, and every n."""

    def __init__(self) -> None:
        self.laws: list[str] = []
        self.values: list[Ints] = []
        self.scales: list[float] = []
        self.below_asked: list[int] = []

    def add_laplace(self, values: Ints, scale: float) -> Ints:
        return self._add("laplace", values, scale)

    def add_gaussian(self, values: Ints, scale: float) -> Ints:
        return self._add("gaussian", values, scale)

    def below(self, n: int) -> int:
        self.below_asked.append(n)
        return 0

    def random_id(self) -> str:
        return "spy"

    @property
    def asked(self) -> int:
        """Count all draws of any kind."""
        return len(self.scales) + len(self.below_asked)

    def _add(self, law: str, values: Ints, scale: float) -> Ints:
        self.laws.append(law)
        self.values.append(np.array(values))
        self.scales.append(scale)
        return np.array(values)

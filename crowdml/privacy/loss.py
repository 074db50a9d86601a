"""Add up privacy losses: pure ε, and ρ of concentrated privacy."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from crowdml.privacy.zcdp import epsilon_of, loss_bound

PRIVATE_UP_TO = 20.0
"""The largest ε that is called private, of a person in total or of a sample.

The factor e^20 is half a billion: beyond it a guess becomes certain, and ε is a number only.
"""


SLACK, ROUNDING = 1e-9, 2.0**-50
"""Room for the rounding of sums of floats: a part of one event, and at least a part of the sum."""


class Unit(StrEnum):
    """Name whom a promise protects: what two neighbouring data sets may differ in."""

    SAMPLE = "sample"
    CHECKIN = "check-in"


@dataclass(frozen=True)
class Loss:
    """Hold a pure ε, a ρ of concentrated privacy that is stated as ε at some δ, or their sum.

    >>> (Loss(epsilon=0.5) + Loss(epsilon=0.25)).total
    0.75
    >>> round((Loss(rho=0.05, delta=1e-6) + Loss(rho=0.05, delta=1e-6)).total, 3)   # not 2 · 1.46
    2.142
    """

    epsilon: float = 0.0
    rho: float = 0.0
    delta: float = 0.0

    @property
    def total(self) -> float:
        """Return the total ε, at δ."""
        if math.isinf(self.rho):
            return math.inf
        return self.epsilon + (epsilon_of(self.rho, self.delta) if self.rho else 0.0)

    @property
    def bound(self) -> float:
        """Return a bound that log P/P′ exceeds with probability at most δ; for pure ε it is ε.

        >>> round(Loss(rho=0.05, delta=1e-6).bound, 3)      # `total` is 1.46
        1.597
        """
        if math.isinf(self.rho):
            return math.inf
        return self.epsilon + (loss_bound(self.rho, self.delta) if self.rho else 0.0)

    def times(self, n: int) -> "Loss":
        """Return the loss of `n` equal losses together."""
        return Loss(n * self.epsilon, n * self.rho, self.delta)

    def group(self, n: int) -> "Loss":
        """Return the loss when n units change at once, by group privacy."""
        return Loss(n * self.epsilon, n * n * self.rho, self.delta)

    def __add__(self, other: "Loss") -> "Loss":
        return Loss.sum((self, other))

    @classmethod
    def sum(cls, losses: Iterable["Loss"]) -> "Loss":
        """Add up losses; of several δ the largest holds."""
        every = list(losses)
        return cls(
            math.fsum(loss.epsilon for loss in every),
            math.fsum(loss.rho for loss in every),
            max((loss.delta for loss in every), default=0.0),
        )


def within(total: float, limit: float, cost: float) -> bool:
    """Return whether a total is at most a limit, allowing for the rounding of floats.

    Ten times 0.1 must fit into 1. The allowance is a fraction of the last event's cost, not of the
    limit: otherwise ten events of 10⁻¹⁰ would fit into a limit of 1 that is used up.

    Args:
        cost: The cost of the last event in the total.

    >>> within(10 * 0.1, 1.0, cost=0.1), within(1.0 + 1e-10, 1.0, cost=1e-10)
    (True, False)
    """
    room = max(SLACK * min(cost, limit), ROUNDING * limit)
    return total <= limit + room

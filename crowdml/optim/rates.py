"""Learning rates η(t), t = 1, 2, …"""

import math
from collections.abc import Callable
from typing import TypeAlias

from crowdml.errors import InvalidInput

__all__ = ["Rate", "check_constant", "constant", "inverse", "inverse_sqrt"]

Rate: TypeAlias = Callable[[int], float]


def inverse_sqrt(c: float) -> Rate:
    """η(t) = c/√t, the default.

    Paper: Eq. (5).

    >>> inverse_sqrt(3.0)(9)
    1.0
    """
    check_constant(c)
    return lambda t: c / math.sqrt(t)


def constant(c: float) -> Rate:
    """η(t) = c.

    >>> constant(3.0)(9)
    3.0
    """
    check_constant(c)
    return lambda t: c


def inverse(c: float) -> Rate:
    """η(t) = c/t, for strongly convex risks (λ > 0).

    >>> inverse(3.0)(6)
    0.5
    """
    check_constant(c)
    return lambda t: c / t


def check_constant(c: float) -> None:
    if not 0 < c < math.inf:
        raise InvalidInput(f"the rate constant c must be positive and finite, found {c}.")

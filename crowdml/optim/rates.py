"""Learning rates η(t), t = 1, 2, …"""

import math
from collections.abc import Callable
from typing import TypeAlias

from crowdml.errors import InvalidInput

__all__ = [
    "Rate",
    "check_constant",
    "constant",
    "inverse",
    "inverse_sqrt",
    "planned_rate",
    "signal_share",
]

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


def planned_rate(reach: float, updates: float, length: float, noise_energy: float) -> float:
    """c = D/√(T·(S²/2 + E‖noise‖²)): the constant rate for T steps, from public numbers alone.

    Args:
        reach: D, how far w is expected to go.
        updates: T.
        length: S, the longest gradient without its noise.
        noise_energy: E‖noise‖².

    >>> planned_rate(reach=40.0, updates=100, length=2.0, noise_energy=14.0)
    1.0
    """
    return reach / math.sqrt(updates * (length**2 / 2 + noise_energy))


def signal_share(updates: float, length: float, noise_energy: float) -> float:
    """min(1, S·√(T/E‖noise‖²)): less than 1 where all T gradients together are less than their
    noise. Then w should not go as far, and the last steps should count for more of the average,
    since they hold all that was heard.

    >>> signal_share(updates=100, length=1.0, noise_energy=400.0)
    0.5
    >>> signal_share(updates=100, length=1.0, noise_energy=0.0)
    1.0
    """
    return 1.0 if noise_energy == 0 else min(1.0, length * math.sqrt(updates / noise_energy))


def check_constant(c: float) -> None:
    if not 0 < c < math.inf:
        raise InvalidInput(f"the rate constant c must be positive and finite, found {c}.")

"""Define learning rates η(t), t = 1, 2, …, and the planned rate."""

import math
from collections.abc import Callable
from typing import TypeAlias

from crowdml.errors import InvalidInput

Rate: TypeAlias = Callable[[int], float]


def inverse_sqrt(c: float) -> Rate:
    """Make the rate η(t) = c/√t, the default.

    Paper: Eq. (5).

    >>> inverse_sqrt(3.0)(9)
    1.0
    """
    check_constant(c)
    return lambda t: c / math.sqrt(t)


def constant(c: float) -> Rate:
    """Make the rate η(t) = c.

    >>> constant(3.0)(9)
    3.0
    """
    check_constant(c)
    return lambda t: c


def inverse(c: float) -> Rate:
    """Make the rate η(t) = c/t, for strongly convex risks (λ > 0).

    >>> inverse(3.0)(6)
    0.5
    """
    check_constant(c)
    return lambda t: c / t


def planned_rate(reach: float, updates: float, length: float, noise_energy: float) -> float:
    """Compute the constant rate for T steps from public numbers: c = D/√(T·(S²/2 + E‖noise‖²)).

    Args:
        reach: D, the distance that w is expected to go.
        updates: T.
        length: S, the longest gradient without its noise.
        noise_energy: E‖noise‖².

    >>> planned_rate(reach=40.0, updates=100, length=2.0, noise_energy=14.0)
    1.0
    """
    return reach / math.sqrt(updates * (length**2 / 2 + noise_energy))


def signal_ratio(updates: float, length: float, noise_energy: float) -> float:
    """Compare the signal of all T gradients with their noise: ρ = S·√(T/E‖noise‖²).

    >>> signal_ratio(updates=100, length=4.0, noise_energy=400.0)
    2.0
    """
    return math.inf if noise_energy == 0 else length * math.sqrt(updates / noise_energy)


def pilot_reach(
    distance: float, rows: int, people: int | None, ratio: float, size: int, scale: float = 1.0
) -> float:
    """Compute the reach from a pilot's start: D = min(d_boot·(1 + 50/n)·(1 + 6/P)·min(1, ρ), ρ·√d).

    The fewer rows and people a pilot has, the further the crowd must be able to move w away from
    the start. The noise moves w by about D in d directions; the bound ρ·√d keeps it from spoiling
    a good start.

    Args:
        distance: d_boot, the mean distance of w₀ from fits to rows drawn with replacement.
        rows: n, the number of rows of the pilot.
        people: P, the number of people in the pilot; None, where it is unknown, omits the factor.
        ratio: ρ, the `signal_ratio` of the crowd.
        size: d, the number of parameters.
        scale: The typical size of a real target, in whose units w is; 1 for labels.

    >>> pilot_reach(distance=3.0, rows=100, people=2, ratio=0.5, size=10_000)
    9.0
    >>> pilot_reach(distance=3.0, rows=100, people=2, ratio=0.5, size=16)
    2.0
    """
    doubt = (1 + 50 / rows) * (1.0 if people is None else 1 + 6 / people)
    return min(distance * doubt * min(1.0, ratio), ratio * math.sqrt(size) * scale)


def check_constant(c: float) -> None:
    if not 0 < c < math.inf:
        raise InvalidInput(f"the rate constant c must be positive and finite, found {c}.")

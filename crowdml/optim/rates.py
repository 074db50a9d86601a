"""Learning rates η(t), t = 1, 2, …"""

import math
from collections.abc import Callable
from typing import TypeAlias

from crowdml.errors import InvalidInput

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


def signal_ratio(updates: float, length: float, noise_energy: float) -> float:
    """ρ = S·√(T/E‖noise‖²): how much all T gradients together say against their noise.

    >>> signal_ratio(updates=100, length=4.0, noise_energy=400.0)
    2.0
    """
    return math.inf if noise_energy == 0 else length * math.sqrt(updates / noise_energy)


def signal_share(updates: float, length: float, noise_energy: float) -> float:
    """min(1, ρ): less than 1 where all T gradients together are less than their
    noise. Then w should not go as far, and the last steps should count for more of the average,
    since they hold all that was heard.

    >>> signal_share(updates=100, length=1.0, noise_energy=400.0)
    0.5
    >>> signal_share(updates=100, length=1.0, noise_energy=0.0)
    1.0
    """
    return min(1.0, signal_ratio(updates, length, noise_energy))


def pilot_reach(
    distance: float, rows: int, people: int | None, ratio: float, size: int, scale: float = 1.0
) -> float:
    """D = min(d_boot·(1 + 50/n)·(1 + 6/P)·min(1, ρ), ρ·√d): how far w goes from a pilot's start.

    The fewer rows and people a pilot has, the further the crowd must be able to walk away from
    its start. The second bound keeps the noise, which moves w by about D in d directions, from
    spoiling a good start.

    Args:
        distance: d_boot, how far w₀ moves when it is fitted to rows drawn with replacement.
        rows: n, the rows of the pilot.
        people: P; None where rows are not known to belong to people, which leaves out its factor.
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

"""Plain words for numbers and settings, the same on every page."""

import math
import time
from typing import NamedTuple

from crowdml import models, optim
from crowdml.protocol import Estimate, State, Terms

__all__ = [
    "ALGORITHMS",
    "MODELS",
    "RATES",
    "SENSORS",
    "Level",
    "certainty",
    "count",
    "epsilon",
    "estimate",
    "level",
    "log10",
    "percent",
    "state",
    "when",
]

NBSP = "\N{NO-BREAK SPACE}"
"""A number and its sign stay on one line."""

MODELS = {name: kind.words for name, kind in models.MODELS.items()}
ALGORITHMS = {name: kind.words for name, kind in optim.OPTIMIZERS.items()}
RATES = {name: kind.words for name, kind in optim.RATES.items()}
SENSORS = {
    "motion": "the accelerometer",
    "sound": "the microphone's level (no sound is kept)",
    "light": "the light sensor",
    "speed": "the speed from the location service (no place is kept)",
    "manual": "numbers that you type in",
}


class Level(NamedTuple):
    """A plain-language level of privacy."""

    name: str
    key: str
    meaning: str


LEVELS = [
    (0.1, Level("Very strong", "strong", "Next to nothing can be learnt about any one sample.")),
    (1.0, Level("Strong", "strong", "Little can be learnt about any one sample.")),
    (3.0, Level("Moderate", "medium", "A guess about one sample can become noticeably better.")),
    (10.0, Level("Weak", "weak", "A guess about one sample can become nearly certain.")),
    (math.inf, Level("Very weak", "weak", "Hardly any protection for a single sample.")),
]
NONE = Level("Not private", "none", "No noise is added, and samples can be reconstructed.")


def level(terms: Terms) -> Level:
    value = terms.epsilon_per_sample
    if math.isinf(value):
        return NONE
    return next(level for limit, level in LEVELS if value <= limit * (1 + 1e-9))


def certainty(value: float) -> str:
    r"""How sure someone with a fifty-fifty guess about one sample can become, at most.

    >>> certainty(1.0)
    '73.1\xa0%'
    """
    if math.isinf(value):
        return "100 %"
    share = 1 / (1 + math.exp(-value))
    return percent(share, 1) if share < 0.999 else f"{math.floor(share * 1e4) / 1e2:g}{NBSP}%"


def state(state: State, version: int) -> str:
    """The state as the portal names it: a running task that waits for its first check-in recruits.

    >>> state(State.RUNNING, 0), state(State.RUNNING, 9), state(State.REACHED, 9)
    ('Recruiting', 'Running', 'Reached its target')
    """
    if state is State.RUNNING and version == 0:
        return "Recruiting"
    return {
        State.RUNNING: "Running",
        State.PAUSED: "Paused",
        State.REACHED: "Reached its target",
        State.EXHAUSTED: "Finished",
        State.STOPPED: "Stopped",
    }[state]


def epsilon(value: float | str | None) -> str:
    """
    >>> epsilon(1.0), epsilon("inf"), epsilon(None)
    ('1', '∞', '∞')
    """
    number = math.inf if value is None else float(value)
    return "∞" if math.isinf(number) else f"{number:.4g}"


def log10(value: float) -> float:
    return math.log10(value)


def count(value: int) -> str:
    """
    >>> count(12345)
    '12,345'
    """
    return f"{value:,}"


def percent(value: float, digits: int = 0) -> str:
    r"""
    >>> percent(0.731), percent(-0.02, 1)
    ('73\xa0%', '−2.0\xa0%')
    """
    return f"{100 * value:.{digits}f}{NBSP}%".replace("-", "−")


def estimate(value: Estimate | None) -> str:
    r"""
    >>> estimate(Estimate(0.123, 0.04)), estimate(None), estimate(Estimate(0.5, 3.0))
    ('12\xa0%\xa0±\xa04', 'not known yet', 'hidden by noise so far')
    """
    if value is None:
        return "not known yet"
    if value.margin >= 1:
        return "hidden by noise so far"
    margin = 100 * value.margin
    digits = 1 if margin < 1 else 0
    return f"{percent(value.value, digits)}{NBSP}±{NBSP}{margin:.{digits}f}"


def when(seconds: int | None) -> str:
    """
    >>> when(None), when(0)
    ('never', '1970-01-01 00:00 UTC')
    """
    if seconds is None:
        return "never"
    return time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(seconds))

"""What draws prove: a lower bound on ε, but for a stated chance of being wrong."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from crowdml.types import Array, Ints

__all__ = ["FALSE_ALARM", "epsilon_lower_bound", "epsilon_of_numbers"]

FALSE_ALARM = 1e-9
"""The chance that more is proved than is true."""

CHOOSING = 10
"""One part in so many chooses events, and the others measure them."""

TENTATIVE = 0.01
"""A false alarm at which a small part can prove something."""


@dataclass(frozen=True)
class Event:
    """Scores of at least `high` speak for a, scores of at most `low` for b; either may be None."""

    high: float | None
    low: float | None

    def proves(
        self, a: Array, b: Array, delta: float, false_alarm: float, repeated: int = 1
    ) -> float:
        """ε from P(A) ≤ e^ε·P'(A) + δ, from the event's two halves together.

        Adding up the inequalities of both gives one for averages. Clopper's and Pearson's bounds
        hold for an average of two probabilities too: a sum of unequal trials strays less.

        Reference: W. Hoeffding, Annals of Mathematical Statistics 27 (1956), Theorem 4.
        """
        right = wrong = trials = 0
        for found in self._halves(a, b):
            right, wrong, trials = right + found[0], wrong + found[1], trials + len(a)
        right, wrong, trials = repeated * right, repeated * wrong, repeated * trials
        p, _ = binomial_bounds(right, trials, false_alarm / 2)
        _, q = binomial_bounds(wrong, trials, false_alarm / 2)
        return math.log((p - delta) / q) if p > delta else -math.inf

    def _halves(self, a: Array, b: Array) -> Iterator[tuple[int, int]]:
        """How often each half was seen where it should be, and where it should not."""
        if self.high is not None:
            yield int((a >= self.high).sum()), int((b >= self.high).sum())
        if self.low is not None:
            yield int((b <= self.low).sum()), int((a <= self.low).sum())


def epsilon_lower_bound(
    a: Array, b: Array, delta: float = 0.0, false_alarm: float = FALSE_ALARM
) -> float:
    """The largest ε that two samples of a score prove at δ.

    Args:
        a: Scores under one data set; a high one speaks for it.
        b: As many under the other.
        delta: δ.
        false_alarm: The chance that this is more than the true ε.

    >>> rng = np.random.default_rng(0)
    >>> epsilon_lower_bound(rng.laplace(size=4000), rng.laplace(size=4000))
    0.0
    """
    cut = max(1, len(a) // CHOOSING)
    events = _best_events(a[:cut], b[:cut], delta)
    proved = [e.proves(a[cut:], b[cut:], delta, false_alarm / len(events)) for e in events]
    return max(0.0, *proved)


def epsilon_of_numbers(a: Ints, b: Ints) -> float:
    """The same for two samples of numbers 0, 1, …, scored by how often each is seen at first.

    >>> often, seldom = np.array([0, 0, 0, 1] * 90_000), np.array([1, 1, 0, 1] * 90_000)
    >>> round(epsilon_of_numbers(often, seldom), 2)      # log 3 = 1.10
    1.08
    """
    cut, numbers = max(1, len(a) // CHOOSING), 1 + max(int(a.max()), int(b.max()))
    seen = [np.bincount(side[:cut], minlength=numbers) + 0.5 for side in (a, b)]
    scores: Array = np.log(seen[0] / seen[1])
    return epsilon_lower_bound(scores[a[cut:]], scores[b[cut:]])


def _best_events(a: Array, b: Array, delta: float) -> list[Event]:
    """Those that prove most for a, for b, and both together.

    That is, here and now, which favours frequent events; and if the rest of the sample were to
    repeat what is seen here, which favours events that hardly ever happen to the other side.
    """
    thresholds = np.unique(
        np.quantile(np.concatenate([a, b]), np.linspace(0.005, 0.995, 199), method="nearest")
    ).tolist()
    events: list[Event] = []
    for level, repeated in ((TENTATIVE, 1), (FALSE_ALARM, CHOOSING - 1)):

        def proved(event: Event, level: float = level, repeated: int = repeated) -> float:
            return event.proves(a, b, delta, level, repeated)

        high = max((Event(each, None) for each in thresholds), key=proved)
        low = max((Event(None, each) for each in thresholds), key=proved)
        events += [high, low, Event(high.high, low.low)]
    return events


def binomial_bounds(successes: int, trials: int, miss: float) -> tuple[float, float]:
    """Clopper's and Pearson's; each fails with probability at most `miss`."""
    from scipy.stats import beta

    rest = trials - successes
    low = float(beta.ppf(miss, successes, rest + 1)) if successes else 0.0
    high = float(beta.isf(miss, successes + 1, rest)) if rest else 1.0
    return low, high

"""Prove a lower bound on ε or ρ from draws, with a stated probability of being wrong."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from crowdml.types import Array, Ints

AUDIT_FALSE_ALARM = 1e-9
"""The probability that any bound of a whole audit is above the true value."""

CHOOSING = 10
"""One part in `CHOOSING` chooses events, and the other parts measure them."""

EVENTS = 6
"""The number of events that are chosen: for a, for b and for both together, by two rules."""

TENTATIVE_FALSE_ALARM = 0.01
"""A false alarm at which a small part can prove something."""

Measure: TypeAlias = Callable[[float, float], float]
"""What an event proves that has a probability of at least p here and of at most q there."""

ORDERS = 1.0 + np.geomspace(0.01, 100.0, 60)


def pure(p: float, q: float) -> float:
    """Compute ε from P(A) ≤ e^ε·P'(A).

    >>> round(pure(0.3, 0.1), 4)      # log 3
    1.0986
    """
    return math.log(p / q) if p > 0 else -math.inf


def concentrated(p: float, q: float) -> float:
    """Compute ρ from D_α(P‖P') ≤ αρ for every α > 1.

    Looking at a single event is post-processing of the output, so Rényi's divergence of the event
    is at most the output's, whatever its law is.

    Reference: Bun, Steinke 2016, Definition 1.1 and Lemma 2.2.

    >>> round(concentrated(0.8413, 0.1587), 2)      # one deviation to either side: ρ = 2
    1.13
    """
    if not 0 < q < p:
        return -math.inf
    stays = np.logaddexp(
        ORDERS * math.log(p) + (1 - ORDERS) * math.log(q),
        ORDERS * math.log1p(-p) + (1 - ORDERS) * math.log1p(-q) if p < 1 else -math.inf,
    )
    return float((stays / (ORDERS * (ORDERS - 1))).max())


@dataclass(frozen=True)
class ScoreEvent:
    """Define an event: scores of at least `high` speak for a, of at most `low` for b; or None."""

    high: float | None
    low: float | None

    def proves(
        self, a: Array, b: Array, measure: Measure, false_alarm: float, repeated: int = 1
    ) -> float:
        """Return what the event's two halves prove together.

        Adding up both inequalities gives one for averages: the one for ε is linear, and in the one
        for ρ the term p^α·q^(1−α) is convex in p and q together. Clopper's and Pearson's bounds
        hold for an average of two probabilities too: a sum of unequal trials varies less.

        Reference: W. Hoeffding, Annals of Mathematical Statistics 27 (1956), Theorem 4.
        """
        halves = list(self._halves(a, b))
        right, wrong = (repeated * sum(counts) for counts in zip(*halves, strict=True))
        trials = repeated * len(a) * len(halves)
        p, _ = binomial_bounds(right, trials, false_alarm / 2)
        _, q = binomial_bounds(wrong, trials, false_alarm / 2)
        return measure(p, q)

    def _halves(self, a: Array, b: Array) -> Iterator[tuple[int, int]]:
        """Count how often each half was seen on its own side, and on the other side."""
        if self.high is not None:
            yield int((a >= self.high).sum()), int((b >= self.high).sum())
        if self.low is not None:
            yield int((b <= self.low).sum()), int((a <= self.low).sum())


def lower_bound(
    a: Array, b: Array, measure: Measure = pure, false_alarm: float = AUDIT_FALSE_ALARM
) -> float:
    """Return the largest bound that two samples of a score prove.

    Args:
        a: Scores under one data set; a high one speaks for it.
        b: The same number of scores under the other.
        measure: What is proved, ε or ρ.
        false_alarm: The probability that the bound is above the true value.

    >>> rng = np.random.default_rng(0)
    >>> lower_bound(rng.laplace(size=4000), rng.laplace(size=4000))
    0.0
    """
    cut = max(1, len(a) // CHOOSING)
    events = _best_events(a[:cut], b[:cut], measure)
    proved = [e.proves(a[cut:], b[cut:], measure, false_alarm / len(events)) for e in events]
    return max(0.0, *proved)


def most_provable(n: int, measure: Measure = pure, false_alarm: float = AUDIT_FALSE_ALARM) -> float:
    """Return the largest bound that n scores of each side can prove.

    It is proved when all scores of one side show the event and none of the other. A device that
    hides nothing proves no more, so a larger claim cannot fail.

    >>> round(most_provable(2000), 2), lower_bound(np.ones(2000), np.zeros(2000))
    (5.04, 5.0409...)
    """
    seen = 2 * (n - max(1, n // CHOOSING))
    if not seen:
        return 0.0
    rate = math.log(false_alarm / (2 * EVENTS)) / seen
    return max(0.0, measure(math.exp(rate), -math.expm1(rate)))


def scores_needed(
    claim: float, measure: Measure = pure, false_alarm: float = AUDIT_FALSE_ALARM
) -> int:
    """Return the least number of scores of each side with which a claim could fail.

    >>> [scores_needed(claim) for claim in (1.0, 4.0, 10.0)]
    [42, 711, 284003]
    """
    high = 2
    while most_provable(high, measure, false_alarm) <= claim:
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        enough = most_provable(middle, measure, false_alarm) > claim
        low, high = (low, middle) if enough else (middle, high)
    return high


def lower_bound_of_numbers(
    a: Ints, b: Ints, claimed: Array | None = None, false_alarm: float = AUDIT_FALSE_ALARM
) -> float:
    """Return the largest ε that two samples of numbers 0, 1, … prove.

    The numbers are scored by how often each is seen at first, which shows a choice that is not
    uniform; and by the claimed law, which is sharper where the choice is right and its coin is not.

    Args:
        claimed: log P/P' of each number, by the law that is claimed, if that is known.

    >>> often, seldom = np.array([0, 0, 0, 1] * 90_000), np.array([1, 1, 0, 1] * 90_000)
    >>> round(lower_bound_of_numbers(often, seldom), 2)      # log 3 = 1.10
    1.08
    """
    cut, numbers = max(1, len(a) // CHOOSING), 1 + max(int(a.max()), int(b.max()))
    seen = [np.bincount(side[:cut], minlength=numbers) + 0.5 for side in (a, b)]
    scores: Array = np.log(seen[0] / seen[1])
    if claimed is None:
        return lower_bound(scores[a[cut:]], scores[b[cut:]], pure, false_alarm)
    half = false_alarm / 2
    return max(
        lower_bound(scores[a[cut:]], scores[b[cut:]], pure, half),
        lower_bound(claimed[a], claimed[b], pure, half),
    )


def _best_events(a: Array, b: Array, measure: Measure) -> list[ScoreEvent]:
    """Find the events that prove most for a, for b, and for both together.

    That is, here and now, which favours frequent events; and if the rest of the sample were to
    repeat what is seen here, which favours events that hardly ever happen to the other side.
    """
    thresholds = np.unique(
        np.quantile(np.concatenate([a, b]), np.linspace(0.005, 0.995, 199), method="nearest")
    ).tolist()
    events: list[ScoreEvent] = []
    for level, repeated in ((TENTATIVE_FALSE_ALARM, 1), (AUDIT_FALSE_ALARM, CHOOSING - 1)):

        def proved(event: ScoreEvent, level: float = level, repeated: int = repeated) -> float:
            return event.proves(a, b, measure, level, repeated)

        high = max((ScoreEvent(each, None) for each in thresholds), key=proved)
        low = max((ScoreEvent(None, each) for each in thresholds), key=proved)
        events += [high, low, ScoreEvent(high.high, low.low)]
    return events


def binomial_bounds(successes: int, trials: int, miss: float) -> tuple[float, float]:
    """Compute Clopper's and Pearson's bounds; each fails with probability at most `miss`."""
    from scipy.stats import beta

    rest = trials - successes
    low = float(beta.ppf(miss, successes, rest + 1)) if successes else 0.0
    high = float(beta.isf(miss, successes + 1, rest)) if rest else 1.0
    return low, high

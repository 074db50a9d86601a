"""The audit: how much does the sanitizer really tell? Measured, not believed.

Two neighbouring minibatches are sanitised thousands of times, exactly as a device does it. Whatever
event separates the two results best gives a lower bound on the true ε, with a stated confidence. A
bound above the claim proves a bug; a bound near the claim shows that the audit has teeth.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from crowdml.device import summarize
from crowdml.models import Huber, Model, Softmax
from crowdml.privacy import (
    CheckinRelease,
    Epsilon,
    ExactNoise,
    NoiseSource,
    Sanitized,
    Sanitizer,
    Summary,
    quantize,
)
from crowdml.types import Array

__all__ = ["Audit", "Finding", "audit_sanitizer", "epsilon_lower_bound"]

FALSE_ALARM = 1e-9
"""The chance that a correct sanitizer fails one part of the audit in one case."""

SHARES = {"gradient": 0.6, "errors": 0.2, "labels": 0.2}


@dataclass(frozen=True)
class Finding:
    """What was claimed, and what was found at least."""

    claimed: float
    lower_bound: float

    @property
    def passed(self) -> bool:
        return self.lower_bound <= self.claimed

    @property
    def share(self) -> float:
        """How much of the claim was proved."""
        return self.lower_bound / self.claimed


@dataclass(frozen=True)
class Audit:
    parts: dict[str, Finding]

    @property
    def passed(self) -> bool:
        return all(finding.passed for finding in self.parts.values())


@dataclass(frozen=True)
class Neighbours:
    """Two minibatches that differ in one sample, and the w that a malicious server would send."""

    model: Model
    w: Array
    x: Array
    y: tuple[Array, Array]


def worst_cases() -> list[Neighbours]:
    """Pairs that move what is sent as far as one sample can.

    A real target that jumps from far below to far above turns a gradient from −S to +S. A label
    that turns from right to wrong moves the error count by one and two label counts by one each.
    """
    huge, right, wrong = 1e6, np.zeros(3), np.array([0.0, 0.0, 1.0])
    return [
        Neighbours(
            Huber(n_features=1),
            np.zeros(1),
            np.ones((3, 1)),
            (np.array([0.0, 0.0, -huge]), np.array([0.0, 0.0, huge])),
        ),
        Neighbours(Softmax(1, 2), np.array([40.0, -40.0]), np.ones((3, 1)), (right, wrong)),
    ]


def audit_sanitizer(
    epsilon: float = 3.0,
    trials: int = 20_000,
    noise: NoiseSource | None = None,
    progress: Callable[[int], None] = lambda done: None,
) -> Audit:
    """Audit each thing that is sent, and all of it together, at this total ε.

    Args:
        epsilon: The total; 60 % for the gradient, 20 % for each count.
        trials: How often each minibatch is sanitised.
        noise: The noise source to audit; exact noise by default.
        progress: Called with the number of trials done.
    """
    parts: dict[str, Finding] = {}
    for case, neighbours in enumerate(worst_cases()):
        before = case * (trials // 2)
        found = _audit_case(
            neighbours, epsilon, trials // 2, noise or ExactNoise(), before, progress
        )
        for part, finding in found.items():
            parts[part] = max(parts.get(part, finding), finding, key=lambda each: each.share)
    return Audit(parts)


def _audit_case(
    case: Neighbours,
    epsilon: float,
    trials: int,
    noise: NoiseSource,
    before: int,
    progress: Callable[[int], None],
) -> dict[str, Finding]:
    labels = SHARES["labels"] * epsilon if case.model.n_classes else 0.0
    levels = Epsilon(SHARES["gradient"] * epsilon, SHARES["errors"] * epsilon, labels)
    sanitizer = Sanitizer(levels, clip=case.model.l1_bound, size=case.model.size)
    nobody = np.zeros(len(case.x), dtype=np.bool_)
    summaries = [summarize(case.model, case.w, case.x, y, nobody, sanitizer.clip) for y in case.y]
    outputs: list[list[Sanitized]] = [[], []]
    event = sanitizer.event(len(case.x), 0)
    for done in range(trials):
        for side, summary in zip(outputs, summaries, strict=True):
            side.append(sanitizer.sanitize(summary, case.w, event, noise))
        progress(before + done + 1)
    claims = {r.what: r.epsilon for r in event.releases} | {"checkin": event.per_sample}
    scores = [_scores(side, event, summaries) for side in outputs]
    return {
        part: Finding(claim, epsilon_lower_bound(scores[0][part], scores[1][part]))
        for part, claim in claims.items()
    }


def epsilon_lower_bound(a: Array, b: Array, false_alarm: float = FALSE_ALARM) -> float:
    """The largest ε that two samples of a score prove, but for the chance of a false alarm.

    One half of each sample chooses the event {score ≥ t}; the other half measures it, with exact
    binomial (Clopper–Pearson) bounds.

    >>> rng = np.random.default_rng(0)
    >>> same = epsilon_lower_bound(rng.laplace(size=4000), rng.laplace(size=4000))
    >>> bool(same <= 0.0)
    True
    """
    half = len(a) // 2
    threshold = max(
        np.quantile(np.concatenate([a[:half], b[:half]]), np.linspace(0.02, 0.98, 97)),
        key=lambda t: _proved(a[:half], b[:half], t, 1e-2),
    )
    return max(0.0, _proved(a[half:], b[half:], threshold, false_alarm))


def _proved(a: Array, b: Array, threshold: float, false_alarm: float) -> float:
    """log(lowest P_a / highest P_b) of the event, or of its complement with sides exchanged."""
    low, _ = _binomial_bounds(int((a >= threshold).sum()), len(a), false_alarm / 2)
    _, high = _binomial_bounds(int((b >= threshold).sum()), len(b), false_alarm / 2)
    candidates = [(low, high), (1 - high, 1 - low)]
    return max(math.log(p / q) if p > 0 and q > 0 else -math.inf for p, q in candidates)


def _binomial_bounds(successes: int, trials: int, miss: float) -> tuple[float, float]:
    """Each bound fails with probability at most `miss`."""
    from scipy.stats import beta

    low = float(beta.ppf(miss, successes, trials - successes + 1)) if successes else 0.0
    rest = trials - successes
    high = float(beta.ppf(1 - miss, successes + 1, rest)) if rest else 1.0
    return low, high


def _scores(
    outputs: list[Sanitized], event: CheckinRelease, summaries: list[Summary]
) -> dict[str, Array]:
    """The log-likelihood ratio of the two neighbours for each output, part by part."""
    observed = {
        "gradient": np.array([output.gradient for output in outputs]),
        "errors": np.array([[output.n_errors] for output in outputs]),
        "labels": np.array([output.n_labels for output in outputs]),
    }
    centres = [
        {
            "gradient": quantize(summary.g, outputs[0].grid),
            "errors": np.array([summary.n_errors]),
            "labels": summary.n_labels,
        }
        for summary in summaries
    ]
    scores: dict[str, Array] = {}
    for r in event.releases:
        values, (first, second) = observed[r.what], (centre[r.what] for centre in centres)
        farther = np.abs(values - second) - np.abs(values - first)
        scores[r.what] = farther.sum(axis=1) * r.epsilon / r.sensitivity
    scores["checkin"] = sum(scores.values(), start=np.zeros(len(outputs)))
    return scores

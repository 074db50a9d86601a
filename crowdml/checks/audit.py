"""Audit devices: measure how much their check-ins really reveal.

Thousands of check-ins are made from each of two data sets, exactly as a device makes them: from
samples as they are taken to the bodies of the messages. The event that separates the two data sets
best gives a lower bound on the true ε. A bound above the claim proves a bug, except with a
probability of `AUDIT_FALSE_ALARM` for the whole audit. A claim passes only if a device that hides
nothing would have failed it.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import msgspec
import numpy as np

from crowdml.checks.lower_bounds import (
    AUDIT_FALSE_ALARM,
    Measure,
    concentrated,
    lower_bound,
    lower_bound_of_numbers,
    most_provable,
    pure,
    scores_needed,
)
from crowdml.checks.pairs import Pair, hardest_pairs, person_pairs
from crowdml.checks.programs import AuditedProgram, PythonProgram, Transcript, WholeDevice
from crowdml.errors import InvalidInput
from crowdml.privacy import Loss, Unit
from crowdml.protocol import MECHANISMS
from crowdml.types import Array, Ints

RETRIES, FEWEST_RETRIES = 20, 200
"""A whole device with its file is slow, so it makes only one check-in in `RETRIES`."""

RETRY_EPSILON = 1.0
"""The ε at which retries are audited, unless the claim is smaller.

Whether a retry sends the same message does not depend on ε, and at a smaller ε more check-ins are
needed to show it.
"""

MOST_TRIALS = 4_000_000
"""The most trials by default; more can be asked for, and may take hours."""

Findings: TypeAlias = "dict[str, Finding]"


@dataclass(frozen=True)
class Finding:
    """Hold what was claimed, and the lower bound that was found.

    Args:
        reach: The largest bound that could have been found: for a device that hides nothing.
        needed: The least number of trials with which such a device fails the claim.
    """

    claimed: float
    lower_bound: float
    reach: float = math.inf
    needed: int = 0

    @property
    def broken(self) -> bool:
        return self.lower_bound > self.claimed

    @property
    def undecided(self) -> bool:
        """Return whether the trials were too few for any device to break the claim."""
        return self.reach <= self.claimed

    @property
    def passed(self) -> bool:
        return not (self.broken or self.undecided)

    @property
    def share(self) -> float:
        """Return the share of the claim that was proved."""
        return self.lower_bound / self.claimed


@dataclass(frozen=True)
class Audit:
    """Hold the finding for each part of what is sent, at this δ.

    Args:
        false_alarm: The probability that a correct device is called broken, for all parts together.
    """

    parts: Findings
    delta: float = 0.0
    false_alarm: float = AUDIT_FALSE_ALARM

    @property
    def passed(self) -> bool:
        return all(finding.passed for finding in self.parts.values())

    @property
    def broken(self) -> bool:
        return any(finding.broken for finding in self.parts.values())

    @property
    def needed(self) -> int:
        """Return the least number of trials that decides every part."""
        return max(finding.needed for finding in self.parts.values())


def audit_mechanism(
    name: str,
    epsilon: float = 4.0,
    trials: int | None = None,
    program: AuditedProgram | None = None,
    progress: Callable[[float], None] = lambda share: None,
) -> Audit:
    """Audit what a device sends by this mechanism at this ε.

    Args:
        name: One of `MECHANISMS`.
        epsilon: The ε that is claimed for a check-in.
        trials: How many check-ins are made for each pair of data sets; by default as the kind says,
            or as many as are needed for the claim, up to `MOST_TRIALS`.
        program: What makes the check-ins; by default Python, and then whole devices as well.
        progress: Called now and then with the share that is done.
    """
    if name not in MECHANISMS:
        raise InvalidInput(f"mechanism must be one of {', '.join(MECHANISMS)}, found {name!r}.")
    pairs = hardest_pairs(name, epsilon)
    retried = hardest_pairs(name, min(epsilon, RETRY_EPSILON))[:2] if program is None else []
    people = person_pairs(name, epsilon) if MECHANISMS[name].unit is not Unit.SAMPLE else []
    share = AUDIT_FALSE_ALARM / (len(pairs) + len(retried) + bool(people))
    trials = trials or _trials_needed(name, pairs, share)
    done = 0
    total = len(pairs) * (trials // 2) * 2 + len(people) * (trials // 4) * 2

    def step(drawn: int) -> None:
        nonlocal done
        done += drawn
        if done % 100 < drawn or done == total:
            progress(done / total)

    parts: Findings = {}
    for pair in pairs:
        _keep(parts, audit_pair(pair, trials, program or PythonProgram(), step, share))
    if people:
        _keep(parts, audit_person(people, trials, program or PythonProgram(), step, share))
    for pair in retried:
        n = max(FEWEST_RETRIES, trials // RETRIES)
        _keep(parts, audit_retries(pair, n, WholeDevice(), share))
    return Audit(parts, _delta(pairs[0]))


def _keep(parts: Findings, found: Findings) -> None:
    """Keep the worst finding of each part: broken, undecided, or the nearest to its claim."""
    for part, finding in found.items():
        parts[part] = max(
            parts.get(part, finding),
            finding,
            key=lambda each: (each.broken, each.undecided, each.share),
        )


def _trials_needed(name: str, pairs: list[Pair], false_alarm: float) -> int:
    """Return the kind's number of trials, or as many as a device without noise needs to fail."""
    sides, halves, parts = 2, 2, 6  # sides of a pair; halves, for repeats; the most parts
    needed = sides * halves * _needed(pairs[0].event.loss, false_alarm / parts)
    return max(MECHANISMS[name].trials, min(needed, MOST_TRIALS))


def _delta(pair: Pair) -> float:
    return pair.event.loss.delta


def audit_pair(
    pair: Pair,
    trials: int,
    program: AuditedProgram,
    step: Callable[[int], None] = lambda drawn: None,
    false_alarm: float = AUDIT_FALSE_ALARM,
) -> Findings:
    """Audit many check-ins from the two data sets of a pair.

    Args:
        false_alarm: The probability that a bound is above the true ε.
    """
    payloads = [
        [_read(pair, body) for (body,) in side] for side in program.transcripts(pair, trials, step)
    ]
    a, b = (np.array([pair.mechanism.private_numbers(each) for each in side]) for side in payloads)
    loss = pair.event.loss
    if a.shape[1] == 1:
        claimed = _claimed(pair, [each for side in payloads for each in side])
        proved = lower_bound_of_numbers(a[:, 0], b[:, 0], claimed, false_alarm)
        return {pair.name: _finding(loss, proved, len(a), trials, false_alarm / 2)}
    sides = [pair.mechanism.log_ratios(side, pair.minibatches(), pair.key) for side in payloads]
    scores = {
        part: (claim, (one, sides[1][part][1])) for part, (claim, one) in sides[0].items()
    } | {"repeats": (loss, _repeats(a[:, 0], b[:, 0]))}
    if pair.name == "heldout":
        scores = {"heldout": scores["checkin"], "repeats": scores["repeats"]}
    each = false_alarm / len(scores)
    return {
        part: _finding(claim, _proved(*both, claim.delta, each), len(both[0]), trials, each)
        for part, (claim, both) in scores.items()
    }


def _claimed(pair: Pair, payloads: list[Any]) -> Array:
    """Return the claimed log P/P' of each number that was sent, and 0 for the others."""
    one_of_each = {pair.mechanism.private_numbers(each)[0]: each for each in payloads}
    log_ratios = pair.mechanism.log_ratios(list(one_of_each.values()), pair.minibatches(), pair.key)
    scores = np.zeros(1 + max(one_of_each))
    scores[list(one_of_each)] = log_ratios["checkin"][1]
    return scores


def _finding(claim: Loss, proved: float, n: int, trials: int, false_alarm: float) -> Finding:
    """Compare what n scores of each side prove with the most that they could have proved."""
    reach = _as_epsilon(most_provable(n, _measure(claim.delta), false_alarm), claim.delta)
    needed = math.ceil(_needed(claim, false_alarm) * trials / n)
    return Finding(claim.total, proved, reach, needed)


def _needed(claim: Loss, false_alarm: float) -> int:
    """Return the number of scores of each side with which a claim could fail."""
    level = claim.rho if claim.delta else claim.epsilon
    return scores_needed(level, _measure(claim.delta), false_alarm)


def _read(pair: Pair, body: bytes) -> Any:
    return msgspec.json.decode(body, type=pair.mechanism.payload_type)


def _proved(a: Array, b: Array, delta: float, false_alarm: float) -> float:
    """Return the proved lower bound as an ε at this δ."""
    return _as_epsilon(lower_bound(a, b, _measure(delta), false_alarm), delta)


def _measure(delta: float) -> Measure:
    return concentrated if delta else pure


def _as_epsilon(level: float, delta: float) -> float:
    """Convert ρ to ε at this δ; return a pure ε unchanged."""
    return Loss(rho=level, delta=delta).total if delta else level


def _repeats(a: Ints, b: Ints) -> tuple[Array, Array]:
    """Score each number of the second half: +1 if seen in the first half of a, −1 if of b.

    Noise from a generator with few bits, or from floats with few values, takes few values: what is
    sent then gives away the number that the noise was added to.
    """
    cut = len(a) // 2

    def seen(side: Ints) -> Array:
        return np.isin(side[cut:], a[:cut]).astype(float) - np.isin(side[cut:], b[:cut])

    return seen(a), seen(b)


def audit_retries(
    pair: Pair, trials: int, program: AuditedProgram, false_alarm: float = AUDIT_FALSE_ALARM
) -> Findings:
    """Audit all messages of a check-in whose first answers were lost."""
    a, b = (_scores(pair, side) for side in program.transcripts(pair, trials, lambda drawn: None))
    proved = _proved(a, b, _delta(pair), false_alarm)
    return {"retry": _finding(pair.event.loss, proved, len(a), trials, false_alarm)}


def audit_person(
    pairs: list[Pair],
    trials: int,
    program: AuditedProgram,
    step: Callable[[int], None] = lambda drawn: None,
    false_alarm: float = AUDIT_FALSE_ALARM,
) -> Findings:
    """Audit all check-ins of a person together, with everything about the person replaced.

    Args:
        pairs: A pair for each check-in of the person.
        trials: Twice the number of people who are drawn: each of them makes several check-ins.
    """
    made = [
        [_scores(pair, side) for side in program.transcripts(pair, trials // 2, step)]
        for pair in pairs
    ]
    a, b = (sum(sides[1:], sides[0]) for sides in zip(*made, strict=True))
    claim = Loss.sum(pair.event.loss for pair in pairs)
    proved = _proved(a, b, claim.delta, false_alarm)
    return {pairs[0].name: _finding(claim, proved, len(a), trials, false_alarm)}


def _scores(pair: Pair, transcripts: list[Transcript]) -> Array:
    """Return log P/P' of each transcript, by the laws that are claimed for its messages."""
    payloads = [_read(pair, body) for each in transcripts for body in each]
    _, scores = pair.mechanism.log_ratios(payloads, pair.minibatches(), pair.key)["checkin"]
    whose = np.repeat(np.arange(len(transcripts)), [len(each) for each in transcripts])
    return np.bincount(whose, scores).astype(float)

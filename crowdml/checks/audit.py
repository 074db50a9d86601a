"""The audit: how much does a device really tell? Measured, not believed.

Two data sets are told thousands of times, exactly as a device does it, from samples as they are
taken to the bodies of its messages. Whatever event separates the results best gives a lower bound
on the true ε, with a stated confidence. A bound above the claim proves a bug; a bound near the
claim shows that the audit would have found one.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import msgspec
import numpy as np

from crowdml.checks.doors import Door, Python, Transcript, WholeDevice
from crowdml.checks.evidence import concentrated, lower_bound, lower_bound_of_numbers, pure
from crowdml.checks.pairs import Pair, hardest
from crowdml.errors import InvalidInput
from crowdml.privacy import Loss
from crowdml.protocol import MECHANISMS
from crowdml.types import Array, Ints

__all__ = ["Audit", "Finding", "audit_mechanism", "audit_pair", "audit_retries"]

RETRIES = 20
"""One check-in in so many is made by a whole device, with its file, which takes its time."""

Findings: TypeAlias = "dict[str, Finding]"


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
    """What was found for each thing that is sent, at this δ."""

    parts: Findings
    delta: float = 0.0

    @property
    def passed(self) -> bool:
        return all(finding.passed for finding in self.parts.values())


def audit_mechanism(
    name: str,
    epsilon: float = 4.0,
    trials: int | None = None,
    door: Door | None = None,
    progress: Callable[[float], None] = lambda share: None,
) -> Audit:
    """Audit what a device sends by this mechanism at this ε.

    Args:
        name: One of `MECHANISMS`.
        epsilon: The claimed ε of a check-in.
        trials: How many check-ins are made for each pair of data sets; by default as the kind says.
        door: Where they are made; by default in Python, and then by whole devices as well.
        progress: Called now and then with the share that is done.
    """
    if name not in MECHANISMS:
        raise InvalidInput(f"mechanism must be one of {', '.join(MECHANISMS)}, found {name!r}.")
    trials = trials or MECHANISMS[name].trials
    pairs = hardest(name, epsilon)
    done, total = 0, len(pairs) * (trials // 2) * 2

    def step(drawn: int) -> None:
        nonlocal done
        done += drawn
        if done % 100 < drawn or done == total:
            progress(done / total)

    parts: Findings = {}
    for pair in pairs:
        _keep(parts, audit_pair(pair, trials, door or Python(), step))
    if door is None:
        for pair in pairs[:2]:
            _keep(parts, audit_retries(pair, max(100, trials // RETRIES), WholeDevice()))
    return Audit(parts, _delta(pairs[0]))


def _keep(parts: Findings, found: Findings) -> None:
    """Of each part the finding that proves most of its claim."""
    for part, finding in found.items():
        parts[part] = max(parts.get(part, finding), finding, key=lambda each: each.share)


def _delta(pair: Pair) -> float:
    return pair.event.loss.delta


def audit_pair(
    pair: Pair, trials: int, door: Door, step: Callable[[int], None] = lambda drawn: None
) -> Findings:
    """What many check-ins of the one side and of the other prove."""
    payload = [
        [_read(pair, body) for (body,) in side] for side in door.transcripts(pair, trials, step)
    ]
    a, b = (np.array([pair.mechanism.secrets(each) for each in side]) for side in payload)
    if a.shape[1] == 1:
        return {pair.name: Finding(pair.event.loss.total, lower_bound_of_numbers(a[:, 0], b[:, 0]))}
    found = dict(_audit_parts(pair, payload))
    proved = _proved(*_repeats(a[:, 0], b[:, 0]), _delta(pair))
    return found | {"repeats": Finding(pair.event.loss.total, proved)}


def _read(pair: Pair, body: bytes) -> Any:
    return msgspec.json.decode(body, type=pair.mechanism.payload_type)


def _audit_parts(pair: Pair, payload: list[list[Any]]) -> Iterator[tuple[str, Finding]]:
    """All that is sent together and each part of it alone, scored by the laws that are claimed."""
    a, b = (pair.mechanism.odds(side, pair.minibatches(), pair.place) for side in payload)
    for part, (loss, scores) in a.items():
        if pair.name != "heldout":
            yield part, Finding(loss.total, _proved(scores, b[part][1], loss.delta))
        elif part == "checkin":
            yield "heldout", Finding(loss.total, _proved(scores, b[part][1], loss.delta))


def _proved(a: Array, b: Array, delta: float) -> float:
    """As ε at this δ."""
    level = lower_bound(a, b, concentrated if delta else pure)
    return Loss(rho=level, delta=delta).total if delta else level


def _repeats(a: Ints, b: Ints) -> tuple[Array, Array]:
    """Of the second half, whether a number was seen in the first half of a, less whether of b.

    Noise from a generator with few bits, or of floats that are, comes in few sizes: what is sent
    then gives away the number that it was added to.
    """
    cut = len(a) // 2

    def seen(side: Ints) -> Array:
        return np.isin(side[cut:], a[:cut]).astype(float) - np.isin(side[cut:], b[:cut])

    return seen(a), seen(b)


def audit_retries(pair: Pair, trials: int, door: Door) -> Findings:
    """What all messages of a check-in prove whose first answers were lost."""
    a, b = (_scores(pair, side) for side in door.transcripts(pair, trials, lambda drawn: None))
    return {"retry": Finding(pair.event.loss.total, _proved(a, b, _delta(pair)))}


def _scores(pair: Pair, transcripts: list[Transcript]) -> Array:
    """log P/P' of each transcript, by the laws that are claimed for what is in it."""
    payload = [_read(pair, body) for each in transcripts for body in each]
    _, scores = pair.mechanism.odds(payload, pair.minibatches(), pair.place)["checkin"]
    whose = np.repeat(np.arange(len(transcripts)), [len(each) for each in transcripts])
    return np.bincount(whose, scores).astype(float)

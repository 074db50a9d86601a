"""The audit: how much does a device really tell? Measured, not believed.

Two data sets are told thousands of times, exactly as a device does it, from samples as they are
taken to the bodies of its messages. Whatever event separates the results best gives a lower bound
on the true ε, with a stated confidence. A bound above the claim proves a bug; a bound near the
claim shows that the audit would have found one.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

import msgspec
import numpy as np

from crowdml.checks.doors import Door, Python, Transcript, WholeDevice
from crowdml.checks.evidence import concentrated, lower_bound, lower_bound_of_numbers, pure
from crowdml.checks.pairs import Pair, opposites, replaced
from crowdml.errors import InvalidInput
from crowdml.privacy import (
    Directed,
    DirectionMechanism,
    Loss,
    Mechanism,
    NoiseEvent,
    NoiseMechanism,
    Noisy,
    Role,
    SystemChance,
)
from crowdml.types import Array, Ints

__all__ = ["TRIALS", "Audit", "Finding", "audit_mechanism", "audit_pair", "audit_retries"]

TRIALS = {"direction": 200_000, "gaussian": 100_000, "laplace": 40_000}
"""Of each mechanism, as many as take a few minutes."""

RETRIES = 20
"""One check-in in so many is made by a whole device, with its file, which takes its time."""

NEVER = 1e-300
"""In place of the probability of what a broken coin never tells, since it has no logarithm."""

Found: TypeAlias = "dict[str, Finding]"


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

    parts: Found
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
        name: `direction`, `gaussian` or `laplace`.
        epsilon: The claimed ε of a check-in.
        trials: How many check-ins are made for each pair of data sets; `TRIALS` by default.
        door: Where they are made; by default in Python, and then by whole devices as well.
        progress: Called now and then with the share that is done.
    """
    if name not in TRIALS:
        raise InvalidInput(f"mechanism must be one of {', '.join(TRIALS)}, found {name!r}.")
    trials = trials or TRIALS[name]
    pairs = _pairs(name, epsilon)
    done, total = 0, len(pairs) * (trials // 2) * 2

    def step(drawn: int) -> None:
        nonlocal done
        done += drawn
        if done % 100 < drawn or done == total:
            progress(done / total)

    parts: Found = {}
    for pair in pairs:
        _keep(parts, audit_pair(pair, trials, door or Python(), step))
    if door is None:
        for pair in pairs[:2]:
            _keep(parts, audit_retries(pair, max(100, trials // RETRIES), WholeDevice()))
    return Audit(parts, _delta(pairs[0]))


def _pairs(name: str, epsilon: float) -> list[Pair]:
    if name == "direction":
        return [opposites(role, epsilon) for role in Role]
    return list(replaced(name, epsilon))


def _keep(parts: Found, found: Found) -> None:
    """Of each part the finding that proves most of its claim."""
    for part, finding in found.items():
        parts[part] = max(parts.get(part, finding), finding, key=lambda each: each.share)


def _delta(pair: Pair) -> float:
    return pair.event.loss.delta


def audit_pair(
    pair: Pair, trials: int, door: Door, step: Callable[[int], None] = lambda drawn: None
) -> Found:
    """What many check-ins of the one side and of the other prove."""
    mechanism = pair.mechanism
    sides = [
        [_read(mechanism, body) for (body,) in side]
        for side in door.transcripts(pair, trials, step)
    ]
    a, b = (np.array(side) for side in sides)
    if isinstance(mechanism, NoiseMechanism):
        return dict(_audit_noise(pair, mechanism, a, b))
    return {pair.name: Finding(pair.event.loss.total, lower_bound_of_numbers(a[:, 0], b[:, 0]))}


def _read(mechanism: Mechanism, body: bytes) -> list[int]:
    """The numbers in a body that are not public."""
    told = msgspec.json.decode(body, type=mechanism.told)
    if isinstance(told, Noisy):
        gradient = np.frombuffer(told.gradient, dtype="<i4").tolist()
        return [*gradient, told.errors, *told.labels]
    assert isinstance(told, Directed)
    return [n for n in (told.direction, told.wrong, told.answer) if n is not None]


def _audit_noise(
    pair: Pair, mechanism: NoiseMechanism, a: Ints, b: Ints
) -> Iterator[tuple[str, Finding]]:
    """All that is sent together, each part of it alone, and whether noise comes twice."""
    event = mechanism.event(len(pair.sides[0]))
    scores = [_log_ratios(pair, mechanism, side) for side in (a, b)]
    claims = {release.what: _loss(release.level, event) for release in event.releases}
    claims["checkin"] = event.loss
    if pair.name == "heldout":
        claims = {"heldout": event.loss}
        scores = [{"heldout": side["checkin"]} for side in scores]
    for part, loss in claims.items():
        yield part, Finding(loss.total, _proved(scores[0][part], scores[1][part], event))
    yield "repeats", Finding(event.loss.total, _proved(*_repeats(a[:, 0], b[:, 0]), event))


def _loss(level: float, event: NoiseEvent) -> Loss:
    return Loss(rho=level, delta=event.delta) if event.delta else Loss(epsilon=level)


def _proved(a: Array, b: Array, event: NoiseEvent) -> float:
    """As ε at the event's δ."""
    return _loss(lower_bound(a, b, concentrated if event.delta else pure), event).total


def _log_ratios(pair: Pair, mechanism: NoiseMechanism, outputs: Ints) -> dict[str, Array]:
    """log P(output)/P'(output) of each release, by the law that is claimed for it.

    It is |v − c'|/s − |v − c|/s for Laplace noise, with squares and 1/(2s²) for Gaussian noise.
    """
    event, d, norm = mechanism.event(len(pair.sides[0])), mechanism.size, mechanism.norm
    columns = {"gradient": slice(0, d), "errors": slice(d, d + 1), "labels": slice(d + 1, None)}
    silence = Python(Silence()).transcripts(pair, 2, lambda drawn: None)
    centres = [_read(mechanism, side[0][0]) for side in silence]
    far, farther = (np.abs(outputs - np.array(c)).astype(float) ** norm for c in centres)
    ratios: dict[str, Array] = {
        r.what: (farther - far)[:, columns[r.what]].sum(axis=1) * r.level / r.sensitivity**norm
        for r in event.releases
    }
    return ratios | {"checkin": sum(ratios.values(), start=np.zeros(len(outputs)))}


def _repeats(a: Ints, b: Ints) -> tuple[Array, Array]:
    """Of the second half, whether a number was seen in the first half of a, less whether of b.

    Noise from a generator with few bits, or of floats that are, comes in few sizes: what is sent
    then gives away the number that it was added to.
    """
    cut = len(a) // 2

    def seen(side: Ints) -> Array:
        return np.isin(side[cut:], a[:cut]).astype(float) - np.isin(side[cut:], b[:cut])

    return seen(a), seen(b)


def audit_retries(pair: Pair, trials: int, door: Door) -> Found:
    """What all messages of a check-in prove whose first answers were lost."""
    event = pair.event
    a, b = (_scores(pair, side) for side in door.transcripts(pair, trials, lambda drawn: None))
    proved = _proved(a, b, event) if isinstance(event, NoiseEvent) else lower_bound(a, b)
    return {"retry": Finding(event.loss.total, proved)}


def _scores(pair: Pair, transcripts: list[Transcript]) -> Array:
    """log P/P' of each transcript, by the laws that are claimed for what is in it."""
    mechanism = pair.mechanism
    bodies = [body for each in transcripts for body in each]
    if isinstance(mechanism, NoiseMechanism):
        outputs = np.array([_read(mechanism, body) for body in bodies])
        scores = _log_ratios(pair, mechanism, outputs)["checkin"]
    else:
        assert isinstance(mechanism, DirectionMechanism)
        told = [msgspec.json.decode(body, type=Directed) for body in bodies]
        odds = [
            [mechanism.probability(each, side, pair.place) for side in pair.minibatches()]
            for each in told
        ]
        scores = np.log(np.maximum(odds, NEVER)) @ np.array([1.0, -1.0])
    whose = np.repeat(np.arange(len(transcripts)), [len(each) for each in transcripts])
    return np.bincount(whose, scores).astype(float)


class Silence(SystemChance):
    """No noise at all, to see what it would have hidden."""

    def add_laplace(self, values: Ints, scale: float) -> Ints:
        return values

    def add_gaussian(self, values: Ints, scale: float) -> Ints:
        return values

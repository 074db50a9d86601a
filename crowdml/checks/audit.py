"""The audit: how much does a mechanism really tell? Measured, not believed.

Two data sets are hidden thousands of times, exactly as a device does it. Whatever event separates
the results best gives a lower bound on the true ε, with a stated confidence. A bound above the
claim proves a bug; a bound near the claim shows that the audit would have found one.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from crowdml.checks.evidence import epsilon_lower_bound, epsilon_of_numbers
from crowdml.checks.pairs import Pair, Step, opposites, replaced
from crowdml.errors import InvalidInput
from crowdml.privacy import (
    GAUSSIAN,
    LAPLACE,
    Chance,
    Directed,
    DirectionMechanism,
    Law,
    Loss,
    NoiseEvent,
    NoiseMechanism,
    Noisy,
    SystemChance,
    best_closest,
    rho_of,
)
from crowdml.types import Array, Ints

__all__ = ["TRIALS", "Audit", "Finding", "audit_mechanism", "audit_numbers"]

TRIALS = {"direction": 200_000, "gaussian": 40_000, "laplace": 40_000}
"""Of each mechanism, as many as take about half a minute."""

DELTA = 0.01
"""The largest δ that a task may have. An event that is rarer than δ proves nothing, so the usual
δ = 10⁻⁶ could only be told from more draws than anyone makes; the mechanism is the same."""


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

    parts: dict[str, Finding]
    delta: float = 0.0

    @property
    def passed(self) -> bool:
        return all(finding.passed for finding in self.parts.values())


def audit_mechanism(
    name: str,
    epsilon: float = 4.0,
    trials: int | None = None,
    chance: Chance | None = None,
    progress: Callable[[float], None] = lambda share: None,
) -> Audit:
    """Audit what a mechanism sends at this ε.

    Args:
        name: `direction`, `gaussian` or `laplace`.
        epsilon: The claimed ε of a check-in.
        trials: How many check-ins are drawn for each pair of data sets; `TRIALS` by default.
        chance: Where all that is random comes from; the system's generator by default.
        progress: Called now and then with the share that is done.
    """
    if name not in TRIALS:
        raise InvalidInput(f"mechanism must be one of {', '.join(TRIALS)}, found {name!r}.")
    trials = trials or TRIALS[name]
    done, total = 0, 4 * (trials // 2)

    def step(drawn: int) -> None:
        nonlocal done
        done += drawn
        if done % 100 < drawn or done == total:
            progress(done / total)

    chance = chance or SystemChance()
    if name == "direction":
        return _audit_direction(epsilon, trials, chance, step)
    return _audit_noise(LAPLACE if name == "laplace" else GAUSSIAN, epsilon, trials, chance, step)


def _audit_direction(epsilon: float, trials: int, chance: Chance, step: Step) -> Audit:
    """Both roles, as tasks have them: one of 1024 directions, or a report on two labels."""
    k = 1024
    mechanism = DirectionMechanism(epsilon, k, best_closest(k, epsilon), size=2, n_classes=2)
    roles = {"direction": opposites(mechanism, False), "report": opposites(mechanism, True)}
    return Audit({what: audit_numbers(pair, trials, chance, step) for what, pair in roles.items()})


def audit_numbers(
    pair: Pair[DirectionMechanism],
    trials: int,
    chance: Chance,
    step: Step = lambda drawn: None,
) -> Finding:
    """How often each number is sent, by one side and by the other."""

    def number(told: Directed) -> list[int]:
        return [n for n in (told.direction, told.report) if n is not None]

    a, b = (side[:, 0] for side in pair.draw(trials, chance, number, step))
    return Finding(pair.mechanism.epsilon, epsilon_of_numbers(a, b))


def _audit_noise(law: Law, epsilon: float, trials: int, chance: Chance, step: Step) -> Audit:
    """Each thing that is sent and all of it together, by the pair that proves most."""
    delta = 0.0 if law.pure else DELTA
    level = epsilon if law.pure else rho_of(epsilon, delta)
    parts: dict[str, Finding] = {}
    for pair in replaced(law, level, delta):
        for part, finding in _audit_releases(pair, trials, chance, step).items():
            parts[part] = max(parts.get(part, finding), finding, key=lambda each: each.share)
    parts["checkin"] = parts.pop("checkin")
    return Audit(parts, delta)


def _audit_releases(
    pair: Pair[NoiseMechanism], trials: int, chance: Chance, step: Step
) -> dict[str, Finding]:
    event = pair.mechanism.event(pair.sides[0].n_samples)
    centres = pair.draw(2, Silence(), _integers)
    a, b = (
        _log_ratios(side, centres, event, pair.mechanism)
        for side in pair.draw(trials, chance, _integers, step)
    )
    claims = {release.what: _claim(release.level, event.delta) for release in event.releases}
    claims["checkin"] = event.loss.total
    return {
        part: Finding(claim, epsilon_lower_bound(a[part], b[part], event.delta))
        for part, claim in claims.items()
    }


def _integers(told: Noisy) -> list[int]:
    return [*np.frombuffer(told.gradient, dtype="<i4").tolist(), told.errors, *told.labels]


def _log_ratios(
    outputs: Ints, centres: tuple[Ints, Ints], event: NoiseEvent, mechanism: NoiseMechanism
) -> dict[str, Array]:
    """log P(output)/P'(output) of each release, by the law that is claimed for it.

    It is |v − c'|/s − |v − c|/s for Laplace noise, with squares and 1/(2s²) for Gaussian noise.
    """
    d, norm = mechanism.size, mechanism.norm
    columns = {"gradient": slice(0, d), "errors": slice(d, d + 1), "labels": slice(d + 1, None)}
    far, farther = (np.abs(outputs - centre).astype(float) ** norm for centre in centres)
    ratios: dict[str, Array] = {
        r.what: (farther - far)[:, columns[r.what]].sum(axis=1) * r.level / r.sensitivity**norm
        for r in event.releases
    }
    return ratios | {"checkin": sum(ratios.values(), start=np.zeros(len(outputs)))}


def _claim(level: float, delta: float) -> float:
    return (Loss(rho=level, delta=delta) if delta else Loss(epsilon=level)).total


class Silence(SystemChance):
    """No noise at all, to see what it would have hidden."""

    def add_laplace(self, values: Ints, scale: float) -> Ints:
        return values

    def add_gaussian(self, values: Ints, scale: float) -> Ints:
        return values

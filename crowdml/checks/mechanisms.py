"""Check every mechanism: its event, its type and size, and that it is right on average."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import msgspec
import numpy as np

from crowdml.errors import InvalidInput
from crowdml.privacy import (
    Chance,
    CheckinEstimates,
    CheckinKey,
    Mechanism,
    MinibatchView,
    SystemChance,
    Unit,
)
from crowdml.types import Array, Flags, Ints

TRIALS = 4000
FALSE_ALARM = 1e-10
"""The level of each comparison."""

MOST_MISSING_SHARE = 0.06
"""What may be missing from S where a law is only nearly kept; thrice that from the energy."""

LARGEST_PARAMETER = float(np.finfo(np.float32).max)
"""The largest number that a server can send as a parameter."""


@dataclass(frozen=True)
class AlikeSamples:
    """Hold samples that are alike: one gradient, one label, all predicted wrongly or none."""

    g: Array
    w: Array
    n_samples: int
    label: int
    wrong: bool
    n_classes: int

    @property
    def labels(self) -> Ints:
        return np.full(self.n_samples if self.n_classes else 0, self.label)

    def mistakes(self) -> Flags:
        return np.full(self.n_samples, self.wrong)

    def mean_gradient(self, rows: Flags, clip: float, norm: int) -> Array:
        assert rows.any(), "a gradient must be averaged over at least one sample."
        return shrunk(self.g, clip * (1 - 2.0**-30), norm)


def shrunk(g: Array, most: float, norm: int) -> Array:
    """Shrink g to a length of at most `most` in this norm."""
    length = float(np.linalg.norm(g, norm))
    return g * (most / length) if length > most else g


class NoRandomness:
    """Forbid randomness: fail if a mechanism asks for any."""

    def __getattr__(self, name: str) -> Callable[..., object]:
        raise AssertionError(f"nothing may be drawn for an event that is rejected, found {name}.")


@dataclass(frozen=True)
class MechanismCase:
    """Hold a mechanism with the numbers that it was made for."""

    mechanism: Mechanism
    size: int
    n_classes: int
    batch: int
    buffer: int
    chance: Chance

    def minibatch(self, g: Array, n: int, last: bool, w: float = 0.0) -> AlikeSamples:
        """Make samples of the first label, predicted wrongly, or of the last, predicted right."""
        label = max(self.n_classes - 1, 0) if last else 0
        return AlikeSamples(g, np.full(self.size, w), n, label, not last, self.n_classes)

    def key(self, i: int) -> CheckinKey:
        return CheckinKey("5e" * 32, f"device-{i}", 1)

    def make_payload(self, minibatch: MinibatchView, key: CheckinKey) -> msgspec.Struct:
        event = self.mechanism.event(minibatch.n_samples, key)
        return self.mechanism.make_payload(minibatch, event, key, self.chance)


def check_mechanism(
    mechanism: Mechanism,
    size: int,
    n_classes: int,
    batch: int,
    buffer: int,
    chance: Chance | None = None,
) -> None:
    """Raise `AssertionError` unless the mechanism keeps every promise of `Mechanism` but privacy.

    That is what `crowdml audit` is for. With the system's generator a correct
    mechanism fails with a probability of less than 1e-7: comparisons are at a level of 1e-10, and
    some forty honest check-ins are put to a gate that may reject each with a probability of 1e-9.
    An estimate that is off by 10 % of S is found, unless the noise is so large that it does not
    matter.

    Args:
        mechanism: Any implementation of `crowdml.privacy.Mechanism`.
        size: d, the number of parameters; laws that hold nearly need ten or more.
        n_classes: C; 0 for a real target.
        batch: b, the least number of samples in a check-in.
        buffer: B, the most.
        chance: The source of all randomness; the system's generator by default.
    """
    case = MechanismCase(mechanism, size, n_classes, batch, buffer, chance or SystemChance())
    _check_event(case)
    _check_round_trip(case)
    _check_own_event(case)
    _check_estimates(case, last=False, length=0.5)
    _check_estimates(case, last=True, length=3.0)


def _check_event(case: MechanismCase) -> None:
    """Check that the event is the same each time, and that replacing everything costs no less."""
    mechanism = case.mechanism
    for i in range(10):
        event = mechanism.event(case.batch, case.key(i))
        assert event == mechanism.event(case.batch, case.key(i)), "an event must not change."
        one, whole = event.loss.total, event.whole_loss.total
        assert event.unit is mechanism.unit, f"the unit must be one, found {event.unit}."
        assert 0 < one <= whole, f"a check-in must cost something, found {one} and {whole}."
        if event.unit is Unit.CHECKIN:
            assert one == whole, f"a promise for the check-in must be for all, found {whole}."


def _check_round_trip(case: MechanismCase) -> None:
    """Check that every payload has its type and size and is plausible, whatever the samples are."""
    mechanism, keys = case.mechanism, (case.key(i) for i in range(10**6))
    for minibatch in _extremes(case):
        key = next(keys)
        payload = case.make_payload(minibatch, key)
        assert type(payload) is mechanism.payload_type, (
            f"it must make a {mechanism.payload_type}, found {payload}."
        )
        body = msgspec.json.encode(payload)
        assert len(body) <= mechanism.largest_payload, (
            f"a payload must have at most {mechanism.largest_payload} bytes, found {len(body)}."
        )
        assert msgspec.json.decode(body, type=mechanism.payload_type) == payload, (
            "it must fit its type."
        )
        mechanism.check(payload, key)
        _check_shape(case, mechanism.read(payload, key))


def _extremes(case: MechanismCase) -> Iterator[MinibatchView]:
    one = np.eye(case.size)[0]
    for g in (0 * one, one, -one, np.full(case.size, 1e12), np.full(case.size, 1e-300)):
        for w in (0.0, LARGEST_PARAMETER):
            for n in (case.batch, case.buffer):
                yield case.minibatch(g, n, last=False, w=w)
                yield case.minibatch(g, n, last=True, w=-w)


def _check_shape(case: MechanismCase, estimates: CheckinEstimates) -> None:
    if estimates.g is not None:
        assert estimates.g.shape == (case.size,), (
            f"g must be {case.size} numbers, found {estimates.g}."
        )
        assert np.isfinite(estimates.g).all(), f"g must be finite, found {estimates.g}."
    read = estimates.g is not None or estimates.evaluated or estimates.labelled
    assert read, f"nothing was read: {estimates}."
    expected = case.n_classes if estimates.labelled else 0
    if not case.n_classes or estimates.labelled:
        assert len(estimates.labels) == expected, f"labels must be {expected}, found {estimates}."


def _check_own_event(case: MechanismCase) -> None:
    """Check that an event of another minibatch or check-in is rejected before anything is drawn.

    An event does not name its device, so events of two devices may be equal or differ only in what
    is sent; each spends what the ledger approved.
    """
    mechanism, key = case.mechanism, case.key(0)
    minibatch = case.minibatch(np.zeros(case.size), case.batch, last=False)
    own = mechanism.event(case.batch, key)
    others = [mechanism.event(case.batch + 1, key)]
    others += [mechanism.event(case.batch, key._replace(number=2))]
    others = [other for other in others if other != own]
    assert others, "events of different check-ins must differ."
    untouched: Chance = NoRandomness()  # type: ignore[assignment]
    for other in others:
        try:
            mechanism.make_payload(minibatch, other, key, untouched)
        except InvalidInput:
            continue
        raise AssertionError(f"{other} must be rejected where {own} is the check-in's own.")


def _check_estimates(case: MechanismCase, last: bool, length: float) -> None:
    """Check that estimates are right on average over many devices, and as noisy as stated.

    Args:
        last: Which label the samples have; see `MechanismCase.minibatch`.
        length: The length of the gradient, in units of S.
    """
    mechanism = case.mechanism
    g = np.linspace(-0.7, 1.0, case.size)
    g *= length * mechanism.length / np.linalg.norm(g, mechanism.norm)
    minibatch = case.minibatch(g, case.batch, last)
    all_estimates = [
        mechanism.read(case.make_payload(minibatch, key), key)
        for key in (case.key(i) for i in range(TRIALS))
    ]
    trained = [estimates.g for estimates in all_estimates if estimates.g is not None]
    if trained:
        expected = shrunk(g, mechanism.length, mechanism.norm)
        _check_gradients(mechanism, np.array(trained), expected)
        if length >= 1:  # A shorter length may be sent at random, which is noise too.
            _check_energy(mechanism, np.array(trained), expected)
    evaluated = [estimates for estimates in all_estimates if estimates.evaluated]
    if evaluated:
        _check_errors(mechanism, evaluated, minibatch)
    labelled = [estimates for estimates in all_estimates if estimates.labelled]
    if labelled:
        _check_labels(mechanism, labelled, minibatch)


def _check_gradients(mechanism: Mechanism, found: Array, expected: Array) -> None:
    along, room = expected / np.linalg.norm(expected), MOST_MISSING_SHARE * mechanism.length
    _require_mean("the length of g", found @ along, float(expected @ along), room)
    for j, wanted in enumerate(expected):
        _require_mean(f"g[{j}]", found[:, j], float(wanted), room / 2)


def _check_energy(mechanism: Mechanism, found: Array, expected: Array) -> None:
    energy = ((found - expected) ** 2).sum(axis=1)
    room = 3 * MOST_MISSING_SHARE * mechanism.noise_energy + (mechanism.length / 1e5) ** 2
    _require_mean("the energy of the noise", energy, mechanism.noise_energy, room)


def _check_errors(
    mechanism: Mechanism, found: list[CheckinEstimates], minibatch: AlikeSamples
) -> None:
    n, variance = found[0].evaluated, mechanism.error_variance
    errors = np.array([estimates.errors for estimates in found]) - n * minibatch.wrong
    _require_mean("errors", errors, 0.0, 1e-3, variance)
    _require_mean("the variance of errors", errors**2, variance, 1e-3, variance)


def _check_labels(
    mechanism: Mechanism, found: list[CheckinEstimates], minibatch: AlikeSamples
) -> None:
    labelled, variance = found[0].labelled, mechanism.label_variance
    for k in range(minibatch.n_classes):
        counts = np.array([estimates.labels[k] for estimates in found])
        noise = counts - labelled * (k == minibatch.label)
        _require_mean(f"label {k}", noise, 0.0, 1e-3, variance)
        # `label_variance` is the variance of the noisiest label.
        expected = min(variance, float((noise**2).mean()))
        _require_mean(f"the variance of label {k}", noise**2, expected, 1e-3, variance)


def _require_mean(
    what: str, values: Array, expected: float, room: float, variance: float = 0.0
) -> None:
    """Require a mean by Bernstein's bound, with the stated or the measured variance if larger."""
    off = abs(float(values.mean()) - expected)
    spread = max(float(values.var()), variance)
    farthest = float(np.abs(values - expected).max())
    rate = math.log(2 / FALSE_ALARM) / len(values)
    allowed = room + math.sqrt(2 * spread * rate) + farthest * rate / 3
    assert off <= allowed, (
        f"{what} must be {expected:g} on average, found {values.mean():g} where {off:g} is more "
        f"than {allowed:g} off."
    )

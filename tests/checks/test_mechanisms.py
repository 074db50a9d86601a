"""Test that every mechanism keeps its promises at extreme terms; planted faults are found."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
import pytest

from crowdml.checks import check_mechanism
from crowdml.privacy import (
    ALL_TRAIN,
    GAUSSIAN,
    LAPLACE,
    CheckinEstimates,
    CheckinEvent,
    CheckinKey,
    DirectionEvent,
    DirectionMechanism,
    DirectionPayload,
    Implausible,
    Law,
    Loss,
    Mechanism,
    NoiseEvent,
    NoiseLevels,
    NoiseMechanism,
    NoisePayload,
    Role,
    Roles,
    best_closest,
)
from tests.privacy.seeded_chance import SeededChance

SIZE, BATCH, BUFFER = 12, 5, 50


def direction(epsilon: float = 4.0, k: int = 256, n_classes: int = 3, **more: Any) -> Any:
    fields: dict[str, Any] = {"size": SIZE, "n_classes": n_classes, "batch": BATCH}
    fields["roles"] = Roles(0.3, 0.3 if n_classes else 0.0)
    return DirectionMechanism(epsilon, k, best_closest(k, epsilon), **(fields | more))


def noise(law: Law, level: float = 0.7, n_classes: int = 3, **more: Any) -> Any:
    fields: dict[str, Any] = {"clip": 2.0, "size": SIZE, "batch": BATCH, "buffer": BUFFER} | more
    levels = NoiseLevels(level, 0.7 * level, 0.5 * level if n_classes else 0.0)
    delta = 0.0 if law.pure else 1e-6
    return NoiseMechanism(law, levels, n_classes=n_classes, delta=delta, **fields)


def check(mechanism: Mechanism, n_classes: int = 3) -> None:
    check_mechanism(mechanism, SIZE, n_classes, BATCH, BUFFER, SeededChance())


@pytest.mark.parametrize(
    ("epsilon", "k", "n_classes"),
    [
        (1e-12, 1024, 2),
        (0.5, 512, 0),
        (4.0, 2, 3),
        (10.0, 1024, 1000),
        (40.0, 2048, 0),
        (40, 2, 2),
    ],
)
def test_direction_conforms(epsilon: float, k: int, n_classes: int) -> None:
    """Check with a fixed seed, so that nothing here fails at random."""
    check(direction(epsilon, k, n_classes), n_classes)


@pytest.mark.parametrize(
    ("roles", "scale"),
    [(ALL_TRAIN, 1e-9), (Roles(0.9), 1e9), (Roles(0.0, 0.9), 1e9), (Roles(0.45, 0.45), 1.0)],
)
def test_direction_conforms_in_every_role(roles: Roles, scale: float) -> None:
    check(direction(roles=roles, scale=scale))


def test_direction_conforms_with_the_systems_randomness() -> None:
    """Check with the system's randomness.

    False-positive rate below 1e-7, see `check_mechanism`.
    """
    check_mechanism(direction(), SIZE, 3, BATCH, BUFFER)


@pytest.mark.parametrize(
    ("law", "level", "n_classes", "heldout"),
    [
        (LAPLACE, 1e-6, 3, 0.0),
        (GAUSSIAN, 0.05, 0, 0.5),
        (LAPLACE, 3.0, 3, 0.5),
        (GAUSSIAN, 1e6, 0, 0.0),
        (LAPLACE, math.inf, 3, 0.5),
    ],
)
def test_noise_conforms(law: Law, level: float, n_classes: int, heldout: float) -> None:
    check(noise(law, level, n_classes, heldout=heldout), n_classes)


@pytest.mark.parametrize(("law", "length"), [(LAPLACE, 1e-9), (GAUSSIAN, 1e9)])
def test_noise_conforms_for_every_length(law: Law, length: float) -> None:
    check(noise(law, clip=length, regularization=1e-6, radius=length))


# Planted faults


@dataclass(frozen=True)
class Changed:
    """Replace some parts of a mechanism by faulty ones."""

    right: Any
    faults: dict[str, Callable[..., Any]]

    def __getattr__(self, name: str) -> Any:
        if name in self.faults:
            return lambda *arguments: self.faults[name](self.right, *arguments)
        return getattr(self.right, name)


@dataclass(frozen=True)
class Fixed:
    """Replace some claims of a mechanism about itself."""

    right: Any
    claims: dict[str, Any]

    def __getattr__(self, name: str) -> Any:
        return self.claims[name] if name in self.claims else getattr(self.right, name)


def reading(
    change: Callable[[CheckinEstimates], CheckinEstimates],
) -> dict[str, Callable[..., Any]]:
    return {"read": lambda right, payload, key: change(right.read(payload, key))}


def longer(found: CheckinEstimates) -> CheckinEstimates:
    return found._replace(g=None if found.g is None else 1.2 * found.g)


def leaning(found: CheckinEstimates) -> CheckinEstimates:
    """Shift every gradient to one side, by a third of S."""
    shift = 0.06 / 3 / math.sqrt(SIZE)
    return found._replace(g=None if found.g is None else found.g + shift)


def unseen(found: CheckinEstimates) -> CheckinEstimates:
    return found._replace(g=None, evaluated=0, labelled=0)


def cut(found: CheckinEstimates) -> CheckinEstimates:
    return found._replace(g=None if found.g is None else found.g[:-1])


def forgetful(found: CheckinEstimates) -> CheckinEstimates:
    return found._replace(labels=found.labels[:-1])


def counted_twice(found: CheckinEstimates) -> CheckinEstimates:
    return found._replace(errors=2 * found.errors)


def spread(found: CheckinEstimates) -> CheckinEstimates:
    """Read answers as they come, without the correction for randomness."""
    return found._replace(labels=tuple(0.8 * count for count in found.labels))


def whatever(right: Any, minibatch: Any, event: Any, key: CheckinKey, chance: Any) -> Any:
    """Spend a fresh event instead of the approved one."""
    return right.make_payload(minibatch, right.event(minibatch.n_samples, key), key, chance)


def drawn_first(right: Any, minibatch: Any, event: Any, key: CheckinKey, chance: Any) -> Any:
    chance.below(2)
    return right.make_payload(minibatch, event, key, chance)


def out_of_range(right: Any, minibatch: Any, event: Any, key: CheckinKey, chance: Any) -> Any:
    payload = right.make_payload(minibatch, event, key, chance)
    return msgspec.structs.replace(payload, number=0)


def another_type(right: Any, minibatch: Any, event: Any, key: CheckinKey, chance: Any) -> Any:
    right.make_payload(minibatch, event, key, chance)
    return NoisePayload(1, 0, 0, (), 0, b"")


def suspicious(right: Any, payload: DirectionPayload, key: CheckinKey) -> None:
    raise Implausible("implausible", "direction must be honest.")


def free(right: Any, n_samples: int, key: CheckinKey) -> CheckinEvent:
    return NoiseEvent(n_samples, 0, ())


def restless(right: Any, n_samples: int, key: CheckinKey) -> CheckinEvent:
    restless.calls += 1  # type: ignore[attr-defined]
    return DirectionEvent(restless.calls, Role.TRAIN, 1.0)  # type: ignore[attr-defined]


restless.calls = 0  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("faulty", "complaint"),
    [
        (Changed(direction(roles=ALL_TRAIN), reading(longer)), "the length of g must be"),
        (Changed(direction(10.0), reading(leaning)), r"g\[\d+\] must be"),
        (Changed(direction(), reading(unseen)), "nothing was read"),
        (Changed(direction(), reading(cut)), "g must be 12 numbers"),
        (Changed(direction(), reading(forgetful)), "labels must be 3"),
        (Changed(direction(), reading(counted_twice)), "errors must be"),
        (Changed(noise(LAPLACE), reading(forgetful)), "labels must be 3"),
        (Changed(direction(), reading(spread)), "label 0 must be"),
        (Changed(noise(LAPLACE, math.inf), {"make_payload": whatever}), "must be rejected"),
        (Changed(noise(LAPLACE), {"make_payload": whatever}), "nothing may be drawn"),
        (Changed(direction(checkins=3), {"make_payload": whatever}), "nothing may be drawn"),
        (Changed(noise(GAUSSIAN), {"make_payload": drawn_first}), "nothing may be drawn"),
        (Changed(direction(), {"make_payload": out_of_range}), "number"),
        (Changed(direction(), {"make_payload": another_type}), "it must make a"),
        (Changed(direction(), {"check": suspicious}), "direction must be honest"),
        (Changed(noise(LAPLACE), {"event": free}), "must cost something, found 0"),
        (Changed(direction(), {"event": restless}), "an event must not change"),
        (Fixed(direction(), {"largest_payload": 20}), "at most 20 bytes, found"),
        (Fixed(direction(), {"unit": "person"}), "the unit must be one"),
        (Fixed(direction(), {"noise_energy": 0.01}), "the energy of the noise must be 0.01"),
        (Fixed(noise(GAUSSIAN), {"noise_energy": 10.0}), "the energy of the noise must be 10"),
        (Fixed(noise(LAPLACE), {"error_variance": 1.0}), "the variance of errors must be 1"),
        (Fixed(noise(LAPLACE), {"label_variance": 1.0}), "the variance of label 0 must be 1"),
        (Fixed(direction(1.0), {"error_variance": 0.3}), "the variance of errors must be 0.3"),
        (Fixed(direction(1.0), {"label_variance": 0.3}), "the variance of label 0 must be 0.3"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_finds_planted_fault(faulty: Any, complaint: str) -> None:
    kinds = (AssertionError, msgspec.ValidationError, Implausible)
    with pytest.raises(kinds, match=complaint):
        check(faulty)


def test_a_promise_for_the_checkin_is_for_all_of_it() -> None:
    class Half(DirectionEvent, frozen=True, tag="half"):
        @property
        def whole_loss(self) -> Loss:
            return Loss(epsilon=2 * self.epsilon)

    faults = {"event": lambda right, n, key: Half(key.number, Role.TRAIN, 1.0)}
    with pytest.raises(AssertionError, match="a promise for the check-in must be for all"):
        check(Changed(direction(), faults))
    assert np.isfinite(direction().length)

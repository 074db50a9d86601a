"""Test the cost of a check-in, from the facts alone."""

import math

import msgspec
import pytest

from crowdml.privacy import (
    CheckinEvent,
    DirectionEvent,
    Loss,
    MinibatchPart,
    NoiseEvent,
    Release,
    Role,
    Unit,
    epsilon_of,
)

DELTA = 1e-6


def noisy(errors_on: MinibatchPart, labels: float = 0.125, delta: float = 0.0) -> NoiseEvent:
    releases = [
        Release("gradient", MinibatchPart.TRAINING, 9, 0.5),
        Release("errors", errors_on, 1, 0.75),
    ]
    if labels:
        releases.append(Release("labels", MinibatchPart.ALL, 2, labels))
    return NoiseEvent(8, 2 if errors_on is MinibatchPart.HELDOUT else 0, tuple(releases), delta)


CASES = [
    (MinibatchPart.TRAINING, 0.125, 0.5 + 0.75 + 0.125, 8),
    (MinibatchPart.HELDOUT, 0.125, 0.75 + 0.125, 10),
    (MinibatchPart.TRAINING, 0.0, 1.25, 8),
    (MinibatchPart.HELDOUT, 0.0, 0.75, 10),
]


@pytest.mark.parametrize(("errors_on", "labels", "level", "n"), CASES)
def test_cost_of_laplace(errors_on: MinibatchPart, labels: float, level: float, n: int) -> None:
    event = noisy(errors_on, labels)
    assert event.unit is Unit.SAMPLE
    assert event.n_samples == n
    assert event.loss == Loss(epsilon=level)
    assert event.whole_loss == Loss(epsilon=n * level)
    assert (event.loss.total, event.whole_loss.total) == (level, n * level)


@pytest.mark.parametrize(("errors_on", "labels", "level", "n"), CASES)
def test_cost_of_gaussian(errors_on: MinibatchPart, labels: float, level: float, n: int) -> None:
    """Check that ρ adds up as ε does, and grows with the square of a group."""
    event = noisy(errors_on, labels, DELTA)
    assert event.loss == Loss(rho=level, delta=DELTA)
    assert event.whole_loss == Loss(rho=n * n * level, delta=DELTA)
    assert event.loss.total == pytest.approx(epsilon_of(level, DELTA))


@pytest.mark.parametrize("delta", [0.0, DELTA])
def test_dearer_part_counts(delta: float) -> None:
    """Check that the part that costs more decides.

    Each sample is in only one of two disjoint parts.
    """
    gradient = Release("gradient", MinibatchPart.TRAINING, 9, 1.0)
    for errors, level in ((0.25, 1.0), (4.0, 4.0)):
        held = Release("errors", MinibatchPart.HELDOUT, 1, errors)
        loss = NoiseEvent(8, 2, (gradient, held), delta).loss
        assert (loss.rho if delta else loss.epsilon) == level


def test_nothing_released_costs_nothing() -> None:
    assert NoiseEvent(4, 0, ()).loss.total == 0.0
    assert NoiseEvent(4, 0, (), DELTA).whole_loss.total == 0.0


@pytest.mark.parametrize("delta", [0.0, DELTA])
def test_no_noise_costs_everything(delta: float) -> None:
    event = NoiseEvent(4, 0, (Release("gradient", MinibatchPart.TRAINING, 9, math.inf),), delta)
    assert event.loss.total == event.whole_loss.total == math.inf


@pytest.mark.parametrize("role", Role)
def test_cost_of_a_direction_is_for_everything(role: Role) -> None:
    event = DirectionEvent(3, role, 0.7)
    assert event.unit is Unit.CHECKIN
    assert event.loss == event.whole_loss == Loss(epsilon=0.7)


@pytest.mark.parametrize(
    "fact",
    [
        noisy(MinibatchPart.TRAINING),
        noisy(MinibatchPart.TRAINING).releases[0],
        DirectionEvent(1, Role.EVALUATE, 1.0),
    ],
)
def test_facts_do_not_change(fact: CheckinEvent | Release) -> None:
    for field in msgspec.structs.fields(type(fact)):  # type: ignore[arg-type]
        with pytest.raises(AttributeError):
            setattr(fact, field.name, 0.0)

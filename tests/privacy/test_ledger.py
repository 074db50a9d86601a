"""Test the ledger: composition, limits, and that no charge can be taken back."""

import dataclasses
import math
from typing import Any

import pytest

from crowdml.errors import InvalidInput, LimitReached
from crowdml.privacy import (
    DirectionEvent,
    Ledger,
    Limits,
    Loss,
    MinibatchPart,
    NoiseEvent,
    Release,
    Role,
    epsilon_of,
    within,
)

OPEN = Limits(per_sample=math.inf, per_device=math.inf)
DELTA = 1e-6


def checkin(level: float, n: int = 20, delta: float = 0.0) -> NoiseEvent:
    return NoiseEvent(n, 0, (Release("gradient", MinibatchPart.TRAINING, 5, level),), delta)


def test_empty() -> None:
    ledger = Ledger()
    assert (ledger.epsilon_per_sample, ledger.epsilon_spent, ledger.epsilon_per_person) == (
        0.0,
        0.0,
        0.0,
    )


def test_composition() -> None:
    """Check disjoint minibatches: a sample pays the largest cost, the device pays the sum."""
    ledger = Ledger.of([checkin(0.5, n=20), checkin(2.0, n=3), checkin(0.25, n=100)])
    assert ledger.epsilon_per_sample == 2.0
    assert ledger.epsilon_spent == 2.75
    assert ledger.epsilon_per_person == 20 * 0.5 + 3 * 2.0 + 100 * 0.25


def test_composition_of_gaussian() -> None:
    """Check that ρ adds up and is converted to ε at δ once.

    The result is far less than the sum of each check-in's ε.
    """
    ledger = Ledger.of([checkin(0.05, delta=DELTA)] * 20)
    assert ledger.epsilon_per_sample == pytest.approx(epsilon_of(0.05, DELTA))
    assert ledger.epsilon_spent == pytest.approx(epsilon_of(1.0, DELTA))
    assert ledger.epsilon_spent < 20 * ledger.epsilon_per_sample / 3
    assert ledger.epsilon_per_person == pytest.approx(epsilon_of(20 * 20**2 * 0.05, DELTA))


def test_composition_of_directions() -> None:
    """Check K·ε for the whole person, independent of the number of samples."""
    ledger = Ledger.of(DirectionEvent(i, Role.TRAIN, 0.5) for i in range(1, 9))
    assert (ledger.epsilon_per_sample, ledger.epsilon_spent, ledger.epsilon_per_person) == (
        0.5,
        4.0,
        4.0,
    )


def test_composition_of_all_kinds() -> None:
    ledger = Ledger.of([checkin(0.5), checkin(0.05, delta=DELTA)])
    ledger = ledger.charge(DirectionEvent(1, Role.EVALUATE, 2.0))
    assert ledger.epsilon_per_sample == 2.0
    assert ledger.epsilon_spent == pytest.approx(2.5 + epsilon_of(0.05, DELTA))


def test_gaussian_limit_is_on_the_sum() -> None:
    """Check the limit on the combined ε.

    The spent ε and the requested ε do not simply add up.
    """
    event, ledger = checkin(0.05, delta=DELTA), Ledger()
    limit = Limits(per_sample=math.inf, per_device=epsilon_of(0.5, DELTA))
    for _ in range(10):
        ledger.require(event, limit)
        ledger = ledger.charge(event)
    with pytest.raises(LimitReached, match="the device limit"):
        ledger.require(event, limit)


def test_charge_appends_and_changes_nothing_old() -> None:
    before = Ledger.of([checkin(0.5)])
    after = before.charge(checkin(1.0))
    assert before.events == (checkin(0.5),)
    assert after.events == (checkin(0.5), checkin(1.0))
    with pytest.raises(dataclasses.FrozenInstanceError):
        after.events = ()  # type: ignore[misc]


def test_require_charges_nothing() -> None:
    ledger = Ledger.of([checkin(0.5)])
    ledger.require(checkin(0.5), OPEN)
    assert ledger.epsilon_spent == 0.5


def test_per_sample_limit() -> None:
    limits = Limits(per_sample=1.0, per_device=math.inf)
    ledger = Ledger.of([checkin(1.0)] * 50)
    ledger.require(checkin(1.0), limits)
    with pytest.raises(LimitReached, match=r"one sample is ε = 1 and a check-in costs 1\.001"):
        ledger.require(checkin(1.001), limits)


def test_device_limit() -> None:
    limits = Limits(per_sample=math.inf, per_device=1.2)
    ledger = Ledger.of([checkin(0.5)])
    ledger.require(checkin(0.5), limits)
    ledger = ledger.charge(checkin(0.5))
    with pytest.raises(
        LimitReached, match=r"device limit is ε = 1\.2; 1 is spent and a check-in costs 0\.5\."
    ):
        ledger.require(checkin(0.5), limits)
    ledger.require(checkin(0.2), limits)


@pytest.mark.parametrize(("count", "limit"), [(10, 1.0), (3, 0.3), (7, 0.7)])
def test_ten_tenths_fit_into_one_and_eleven_do_not(count: int, limit: float) -> None:
    """Check limits under float rounding: in floats 0.2 + 0.1 is more than 0.3."""
    limits, ledger = Limits(per_sample=0.1, per_device=limit), Ledger()
    for _ in range(count):
        ledger.require(checkin(0.1), limits)
        ledger = ledger.charge(checkin(0.1))
    with pytest.raises(LimitReached):
        ledger.require(checkin(0.1), limits)
    with pytest.raises(LimitReached):
        ledger.require(checkin(1e-6), limits)


def test_a_full_limit_takes_no_small_events() -> None:
    """Check that the room for rounding is relative to the event.

    Otherwise small events would add up within it.
    """
    limits, full = Limits(per_sample=1.0, per_device=1.0), Ledger.of([checkin(0.1)] * 10)
    for cost in (1e-10, 1e-12, 1e-14):
        with pytest.raises(LimitReached):
            full.require(DirectionEvent(1, Role.TRAIN, cost), limits)
    tiny = DirectionEvent(1, Role.TRAIN, 1 / 3e4)
    ledger = Ledger.of([tiny] * (3 * 10**4 - 1))
    ledger.require(tiny, limits)
    with pytest.raises(LimitReached):
        ledger.charge(tiny).require(tiny, limits)


def test_a_long_sum_may_be_rounded_up() -> None:
    """Check that the room is at least 2⁻⁵⁰ of the limit, however little an event costs."""
    assert within(4 * (1 + 2.0**-50), 4.0, cost=1e-20)
    assert not within(4 * (1 + 2.0**-49), 4.0, cost=1e-20)


def test_a_pure_loss_is_its_own_bound() -> None:
    assert Loss(epsilon=0.5).bound == 0.5


def test_no_noise_fits_no_finite_limit() -> None:
    for limits in (Limits(1e9, math.inf), Limits(math.inf, 1e9)):
        with pytest.raises(LimitReached, match="costs inf"):
            Ledger().require(checkin(math.inf), limits)
    ledger = Ledger.of([checkin(math.inf)])
    ledger.require(checkin(math.inf), OPEN)
    assert ledger.epsilon_spent == math.inf
    with pytest.raises(LimitReached, match="inf is spent"):
        ledger.require(checkin(0.1), Limits(1.0, 1.0))


@pytest.mark.parametrize("value", [0.0, -1.0, math.nan, True, "1", None])
def test_limits_are_positive(value: Any) -> None:
    found = f"must be a number above 0, found {value!r}"
    with pytest.raises(InvalidInput, match=f"the limit per_sample {found}"):
        Limits(per_sample=value, per_device=1.0)
    with pytest.raises(InvalidInput, match=f"the limit per_device {found}"):
        Limits(per_sample=1.0, per_device=value)

"""Compare the ledger's sums with Google's dp-accounting for the same events."""

import math

import pytest
from dp_accounting.dp_event import (
    ComposedDpEvent,
    DpEvent,
    GaussianDpEvent,
    LaplaceDpEvent,
    RandomizedResponseDpEvent,
    SelfComposedDpEvent,
    ZCDpEvent,
)
from dp_accounting.pld import PLDAccountant
from dp_accounting.pld.common import DifferentialPrivacyParameters
from dp_accounting.pld.privacy_loss_distribution import from_privacy_parameters
from dp_accounting.privacy_accountant import NeighboringRelation
from dp_accounting.rdp import RdpAccountant

from crowdml.privacy import (
    GAUSSIAN,
    LAPLACE,
    CheckinEvent,
    Choice,
    DirectionEvent,
    Law,
    Ledger,
    NoiseLevels,
    NoiseMechanism,
    Role,
)

REPLACED = NeighboringRelation.REPLACE_ONE
MOVED = NeighboringRelation.ADD_OR_REMOVE_ONE
"""dp-accounting's noise is for adding or removing a sample, ours for replacing one."""

DELTA = 1e-6
TOO_RARE = 1e-12
"""The smallest δ that numbers on a grid can distinguish from zero."""


def lost(event: CheckinEvent, checkins: int) -> float:
    return Ledger((event,) * checkins).epsilon_spent


def exact(event: DpEvent, relation: NeighboringRelation, delta: float = TOO_RARE) -> float:
    """Compute ε from the whole law of the privacy loss, rounded up."""
    accountant = PLDAccountant(relation, value_discretization_interval=1e-3)
    return float(accountant.compose(event).get_epsilon(delta))


def noise(law: Law, level: float) -> NoiseMechanism:
    delta = 0.0 if law.pure else DELTA
    return NoiseMechanism(law, NoiseLevels(level, level / 2, 0), clip=1.0, size=1, delta=delta)


@pytest.mark.parametrize("checkins", [1, 7])
@pytest.mark.parametrize("epsilon", [0.25, 4.0])
def test_pure(epsilon: float, checkins: int) -> None:
    """Compose a mechanism with a pure ε over all check-ins."""
    ours = lost(DirectionEvent(1, Role.TRAIN, epsilon), checkins)
    one = from_privacy_parameters(DifferentialPrivacyParameters(epsilon, 0.0))
    theirs = one.self_compose(checkins).get_epsilon_for_delta(0.0)
    assert theirs == pytest.approx(ours, rel=1e-2)
    assert ours == pytest.approx(checkins * epsilon)


@pytest.mark.parametrize(("k", "epsilon"), [(2, 1.0), (2, 4.0), (3, 4.0), (20, 2.5)])
def test_responses_are_randomised_response(k: int, epsilon: float) -> None:
    """Compare a number of k with one best to randomised response.

    A known probability decides whether the number is drawn anew among all k.
    """
    choice = Choice(k, 1, epsilon)
    theirs = exact(RandomizedResponseDpEvent(k * choice.unlikely, k), REPLACED)
    assert theirs == pytest.approx(epsilon, abs=2e-3)


@pytest.mark.parametrize("checkins", [1, 5])
def test_laplace_checkins(checkins: int) -> None:
    """Compose gradient and errors on the same samples, both moved as far as possible."""
    event = noise(LAPLACE, 0.8).event(10)
    parts = [LaplaceDpEvent(1 / release.level) for release in event.releases]
    theirs = exact(SelfComposedDpEvent(ComposedDpEvent(parts), checkins), MOVED)
    ours = lost(event, checkins)
    assert ours == pytest.approx(checkins * 1.2)
    # The largest loss of many Laplace numbers is too rare for the accountant to resolve.
    assert (0.99 if checkins == 1 else 0.9) * ours < theirs <= ours * 1.01


@pytest.mark.parametrize("checkins", [1, 10, 300])
@pytest.mark.parametrize("rho", [1e-4, 0.02, 0.7])
def test_concentrated(rho: float, checkins: int) -> None:
    """Check that ρ adds up, and is converted to ε at δ as by dp-accounting at its own orders."""
    ours = lost(noise(GAUSSIAN, rho / 1.5).event(10), checkins)
    accountant = RdpAccountant(neighboring_relation=REPLACED)
    composed = SelfComposedDpEvent(ZCDpEvent(rho), checkins)
    theirs = float(accountant.compose(composed).get_epsilon(DELTA))
    assert ours <= theirs * (1 + 1e-9)
    assert theirs == pytest.approx(ours, rel=0.05)


@pytest.mark.parametrize("checkins", [1, 20])
@pytest.mark.parametrize("rho", [0.02, 0.3])
def test_gaussian_noise_at_delta(rho: float, checkins: int) -> None:
    """Compare with the exact (ε, δ) of Gaussian noise: ρ claims no less, and not much more."""
    event = noise(GAUSSIAN, rho / 1.5).event(10)
    parts = [GaussianDpEvent(1 / math.sqrt(2 * release.level)) for release in event.releases]
    composed = SelfComposedDpEvent(ComposedDpEvent(parts), checkins)
    theirs = exact(composed, MOVED, DELTA)
    assert 0.85 * lost(event, checkins) < theirs <= lost(event, checkins)

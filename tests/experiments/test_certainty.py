"""Check with whole numbers how sure somebody can become, by the law of the loss."""

import numpy as np
import pytest

from crowdml.privacy import Loss, rho_of
from crowdml.privacy.zcdp import MANY_COUNTS, MORE_OFTEN
from experiments.figures.certainty import DELTA, losses, passed, stopped, tails, worst


@pytest.mark.parametrize(("epsilon", "passes"), [(0.5, 14.8), (1.0, 6.65), (4.0, 1.48)])
def test_bound_is_passed_with_a_chance_of_delta(epsilon: float, passes: float) -> None:
    """Check how often the bound and ε are passed against what docs/privacy.md says."""
    rho = rho_of(epsilon, DELTA)
    bound = Loss(rho=rho, delta=DELTA).bound
    assert tails(rho, epsilon)[0] == pytest.approx(passes * 1e-6, rel=0.01)
    after, true, either = tails(rho, bound)
    assert max(after, true) <= DELTA
    assert true < either <= 2 * DELTA
    for share in (0.05, 0.2, MANY_COUNTS / 2):
        assert passed(rho, share, share, bound) <= DELTA


@pytest.mark.parametrize(
    ("delta", "labels", "numbers"), [(1e-12, 2.1, 8.14), (1e-6, 1.9, 5.79), (1e-3, 1.9, 4.42)]
)
def test_counts_alone_pass_it_at_most_ten_times_as_often(
    delta: float, labels: float, numbers: float
) -> None:
    assert worst(delta, 0.95, 0.05, 1, 20, 1000) == pytest.approx(labels, abs=0.2)
    assert worst(delta, 1.0, 0.0, 1, 20, 200) == pytest.approx(numbers, abs=0.01)
    assert numbers < MORE_OFTEN
    for errors, counted in ((MANY_COUNTS, 0.0), (MANY_COUNTS - 0.05, 0.05)):
        assert worst(delta, errors, counted, 2, 20, 60) <= 1
    assert worst(delta, 0.95, 0.0, 2, 20, 200) > 1, "more counts pass the bound more often"


def test_real_checkins_keep_to_it() -> None:
    """Count losses beyond their bound: at δ = 0.01, 12 in 2,000 are expected. Seeded."""
    claim, found = losses(0.01, 2000)
    assert 2 <= (np.abs(found) > claim.bound).sum() <= 20
    assert 0.002 < stopped(0.01, claim.rho, 20, 20_000, np.random.default_rng(0)) < 0.01

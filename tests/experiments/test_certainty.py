"""Check with whole numbers how sure somebody can become, by the law of the loss."""

import numpy as np
import pytest

from crowdml.privacy import Loss, rho_of
from experiments.figures.certainty import DELTA, losses, passed, stopped, tails


@pytest.mark.parametrize(("epsilon", "passes"), [(0.5, 14.8), (1.0, 6.65), (4.0, 1.48)])
def test_bound_is_passed_with_a_chance_of_delta(epsilon: float, passes: float) -> None:
    """Check how often the bound and ε are passed against what docs/privacy.md says."""
    rho = rho_of(epsilon, DELTA)
    bound = Loss(rho=rho, delta=DELTA).bound
    assert tails(rho, epsilon)[0] == pytest.approx(passes * 1e-6, rel=0.01)
    assert max(tails(rho, bound)) <= DELTA
    for share in (0.05, 0.2, 0.49):
        assert passed(rho, share, bound) <= DELTA


def test_real_checkins_keep_to_it() -> None:
    """Count losses beyond their bound: at δ = 0.01, 12 in 2,000 are expected. Seeded."""
    claim, found = losses(0.01, 2000)
    assert 2 <= (np.abs(found) > claim.bound).sum() <= 20
    assert 0.002 < stopped(0.01, claim.rho, 20, 20_000, np.random.default_rng(0)) < 0.01

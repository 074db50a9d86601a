"""Check that the audit finds coins that are a few percent wrong, as experiments/figures says."""

import pytest

from experiments.figures.audit_power import power


@pytest.mark.parametrize(
    ("k", "epsilon", "fault", "trials"),
    [(2, 0.5, 0.1, 12_000), (2, 1.0, 0.05, 30_000), (2, 4.0, 0.02, 6000), (1024, 4.0, 0.1, 60_000)],
)
def test_faults_are_found(k: int, epsilon: float, fault: float, trials: int) -> None:
    """Find faults, and nothing without a fault. Seeded."""
    assert power(epsilon, k, fault, trials, audits=3) == 1.0
    assert power(epsilon, k, 0.0, trials, audits=3) == 0.0

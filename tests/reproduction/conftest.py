"""Provide one small reproduction of everything, shared by all tests."""

import pytest

from crowdml.reproduction import Reproduction, reproduce
from tests.reproduction.small import load_small, small_plans

SHARES: list[float] = []


@pytest.fixture(scope="session")
def shares(found: Reproduction) -> list[float]:
    """Return the progress that the run reported, in order."""
    return SHARES


@pytest.fixture(scope="session")
def found() -> Reproduction:
    SHARES.clear()
    return reproduce(
        ["all"],
        trials=1,
        progress=lambda name, share: SHARES.append(share),
        load=load_small,
        plans=small_plans(),
    )

"""Test the interval for one more run, and how many devices are enough, with fixed seeds."""

from functools import partial

import numpy as np
import pytest

from crowdml.simulation.advice.interval import error_interval, shift_interval, surely_at_most
from crowdml.simulation.advice.sizes import fewest_devices
from crowdml.types import Array


@pytest.mark.parametrize("runs", [3, 10, 30])
@pytest.mark.parametrize("shape", [(3.0, 50.0), (20.0, 30.0), (40.0, 5.0)])
def test_it_holds_nineteen_runs_in_twenty(runs: int, shape: tuple[float, float]) -> None:
    """Check errors of a beta law: skewed right, about symmetrical, and skewed left."""
    drawn = np.random.default_rng(0).beta(*shape, size=(2000, runs + 1))
    ends = np.array([error_interval(row[:-1]) for row in drawn])
    held = (ends[:, 0] <= drawn[:, -1]) & (drawn[:, -1] <= ends[:, 1])
    assert held.mean() == pytest.approx(0.95, abs=0.015)


def test_few_runs_say_little() -> None:
    assert error_interval(np.array([0.2])) == (0.0, 1.0)
    (low, high), errors = error_interval(np.array([0.2, 0.21])), np.full(10, 0.2)
    assert low < 0.15 < 0.27 < high
    assert error_interval(errors) == pytest.approx((0.2, 0.2))
    assert not surely_at_most(0.99, np.array([0.2]))
    assert surely_at_most(0.21, errors)


def test_differences_have_either_sign() -> None:
    low, high = shift_interval(np.array([-0.02, 0.0, 0.01, -0.01]))
    assert low < -0.02 < 0.01 < high


def test_the_first_lucky_size_is_not_taken() -> None:
    """Check errors of 0.5/√n.

    Of these sizes, 141 is the first that reaches 0.06 in nine runs of ten.
    """
    sizes = [round(25 * 2 ** (half / 2)) for half in range(12)]

    def errors(seed: int, size: int, runs: int, part: int) -> Array:
        drawn = np.random.default_rng([seed, size, part]).normal(0.5, 0.08, runs)
        found: Array = drawn / np.sqrt(size)
        return found

    reached = []
    for seed in range(60):
        found = fewest_devices(partial(errors, seed), sizes, 0.06)
        assert found is not None
        reached.append(np.mean(errors(seed, found, 1000, 9) <= 0.06))
    assert np.mean(np.array(reached) >= 0.85) > 0.9
    assert np.mean(reached) > 0.93
    assert fewest_devices(partial(errors, 0), sizes, 1e-9) is None

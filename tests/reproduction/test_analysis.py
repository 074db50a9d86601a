"""Test Section IV's formulas, measured on small data."""

import numpy as np
import pytest

from crowdml.reproduction import Reproduction
from crowdml.reproduction.analysis import bytes_sent, gradient_noise, staleness
from crowdml.simulation import Learning
from crowdml.simulation.learning_setup import make_model
from tests.reproduction.small import load_small

DATA = load_small("mnist")
MODEL = make_model(Learning(), 6, 3)


def test_noise_follows_the_formula_with_every_parameter() -> None:
    """Compare measured noise with the formula plus a term that the paper leaves out.

    A mean of b gradients keeps their expectation, which the paper omits.

    The relative deviation of a mean of 400·18 squared Laplace draws is √5/85 = 2.6 %; the bounds
    are 7.6 deviations away, so this fails at random with a rate below 1e-10."""
    found = gradient_noise(MODEL, DATA, 5, 400, np.random.default_rng(0))
    assert found.predicted > 32 * 18 / 50**2
    mean = MODEL.gradients(np.zeros(18), DATA.x_train, DATA.y_train).mean(axis=0)
    exact = found.predicted + (1 - 1 / 5) * mean @ mean
    assert found.measured == pytest.approx(exact, rel=0.2)


def test_bytes_fall_with_the_batch() -> None:
    one, ten = bytes_sent(MODEL, DATA, 1), bytes_sent(MODEL, DATA, 10)
    assert one.predicted == 2 * 4 * 18
    assert ten.measured < one.measured / 9
    assert one.measured > one.predicted * 4 / 3


@pytest.mark.parametrize("batch", [1, 20])
def test_short_delays_follow_the_formula(batch: int) -> None:
    found = staleness(1000, batch, 40.0, np.random.default_rng(0))
    assert found.measured == pytest.approx(found.predicted, rel=0.1)


def test_all_are_measured(found: Reproduction) -> None:
    assert found.analysis is not None
    assert found.analysis.n_classes == 3
    assert {len(found.analysis.noise), len(found.analysis.bytes_per_sample)} == {7}
    assert set(found.analysis.staleness) == {"b = 1", "b = 20"}

"""The noise to expect: as much as devices really add, and less the more of them there are."""

import math

import numpy as np
import pytest

from crowdml.privacy import (
    Epsilon,
    ExactNoise,
    Sanitizer,
    Summary,
    dequantize,
    forecast,
    gradient_noise,
)


def sanitizer(epsilon_g: float = 0.9, size: int = 99) -> Sanitizer:
    return Sanitizer(Epsilon(epsilon_g, 0.05, 0.05), clip=2.0, size=size)


@pytest.mark.parametrize("n", [1, 7, 52])
@pytest.mark.parametrize("epsilon_g", [0.1, 0.9, 10.0])
def test_noise_is_nearly_that_of_the_paper(n: int, epsilon_g: float) -> None:
    """Laplace noise of scale 2S/(n·ε): the grid adds little. Paper: Eq. (10)."""
    noise = gradient_noise(sanitizer(epsilon_g), n)
    assert noise.scale == pytest.approx(2 * 2.0 / (n * epsilon_g), rel=0.01)
    assert noise.stddev == pytest.approx(math.sqrt(2) * noise.scale, rel=0.01)
    assert 0 < noise.step < 0.01 * noise.scale


def test_noise_is_what_devices_add() -> None:
    """The variance of 10⁵ draws is within 7 of its standard deviations: fails by chance < 1e-9.

    For Laplace noise the standard deviation of an estimated variance is √(5/N) of it.
    """
    size, n = 100_000, 52
    device = sanitizer(size=size)
    nothing = Summary(np.zeros(size), 0, np.zeros(2, dtype=np.int64), n, 0)
    sent = device.sanitize(nothing, np.zeros(size), device.event(n, 0), ExactNoise())
    variance = dequantize(sent.gradient, sent.grid).var()
    expected = gradient_noise(device, n).stddev ** 2
    assert variance == pytest.approx(expected, rel=7 * math.sqrt(5 / size))


def test_needed_checkins_are_the_first_that_are_enough() -> None:
    for n_classes in (0, 3):
        expected = forecast(sanitizer(), 52, n_classes, checkins=1000)
        assert expected is not None
        enough = forecast(sanitizer(), 52, n_classes, expected.needed + 1)
        too_few = forecast(sanitizer(), 52, n_classes, expected.needed - 1)
        assert enough is not None
        assert not enough.drowned
        assert too_few is not None
        assert too_few.drowned


def test_labels_share_the_signal_and_checkins_average_the_noise() -> None:
    one, ten = forecast(sanitizer(), 52, 0, 100), forecast(sanitizer(), 52, 10, 100)
    assert one is not None
    assert ten is not None
    assert ten.after_all == pytest.approx(10 * one.after_all)
    assert one.after_all == pytest.approx(one.once / 10)
    assert one.noise_stddev == ten.noise_stddev == gradient_noise(sanitizer(), 52).stddev


def test_no_noise_has_no_forecast() -> None:
    assert forecast(Sanitizer(Epsilon(math.inf, math.inf, math.inf), 2.0, 9), 10, 3, 100) is None

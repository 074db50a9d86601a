"""Simulator and devices agree in law, and real codewords are as short as is said."""

import pytest

from experiments.figures.codewords import alone, p_value, real, simulated, spread

RARE = 1e-9
"""Each comparison fails by chance with at most this probability."""


@pytest.mark.parametrize("fast", [True, False])
@pytest.mark.parametrize("d", [2, 12, 99])
def test_simulator_and_devices_agree_in_law(d: int, fast: bool) -> None:
    """By a test of two samples, along the gradient and across it, at ε = 10.

    With all of it a tenth longer they do not: the test can fail. Normal codewords would, at d = 2.
    """
    u, n = spread(d).u, 1500
    found, drawn = real(10.0, u, n), simulated(10.0, u, n, fast)
    assert p_value(found, drawn, u) > RARE
    assert p_value(found, 1.1 * drawn, u) < RARE


def test_codewords_are_short_where_a_gradient_has_few_numbers() -> None:
    """13 % at ε = 10 in one number of many, and right on average if spread over 99.

    The mean of 1,500 has a deviation of 0.6 % of S; 4 % is more than six of them.
    """
    for shape, expected in ((alone(99), 0.865), (spread(2), 0.922), (spread(99), 0.995)):
        along = real(10.0, shape.u, 1500) @ shape.u
        assert along.mean() == pytest.approx(expected, abs=0.04)

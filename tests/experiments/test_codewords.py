"""Check that simulator and devices agree in law, and that real codewords are as short as stated."""

import pytest

from experiments.figures.codewords import alone, p_value, real, simulated, spread

RARE = 1e-9
"""The largest probability that a correct comparison fails."""


@pytest.mark.parametrize("fast", [True, False])
@pytest.mark.parametrize("d", [2, 12, 99])
def test_simulator_and_devices_agree_in_law(d: int, fast: bool) -> None:
    """Compare two samples, along the gradient and across it, at ε = 10.

    If everything is a tenth longer, the samples do not agree: the test can fail. Normal codewords
    would not agree either, at d = 2.
    """
    u, n = spread(d).u, 1500
    found, drawn = real(10.0, u, n), simulated(10.0, u, n, fast)
    assert p_value(found, drawn, u) > RARE
    assert p_value(found, 1.1 * drawn, u) < RARE


def test_codewords_are_short_where_a_gradient_has_few_numbers() -> None:
    """Check that codewords are 13 % short for a gradient along one of many axes, at ε = 10.

    If the gradient is spread over 99 numbers, they are right on average. The mean of 1,500 has a
    deviation of 0.6 % of S; 4 % is more than six deviations.
    """
    for shape, expected in ((alone(99), 0.865), (spread(2), 0.922), (spread(99), 0.995)):
        along = real(10.0, shape.u, 1500) @ shape.u
        assert along.mean() == pytest.approx(expected, abs=0.04)

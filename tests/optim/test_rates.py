"""Test η(t) of Eq. (5) and its alternatives."""

import math
from collections.abc import Callable

import pytest

from crowdml.errors import InvalidInput
from crowdml.optim import (
    Optimizer,
    Rate,
    adagrad,
    constant,
    dual_averaging,
    inverse,
    inverse_sqrt,
    pilot_reach,
    planned_rate,
)


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (inverse_sqrt, [2.5, 2.5 / math.sqrt(2), 2.5 / math.sqrt(3), 1.25]),
        (constant, [2.5, 2.5, 2.5, 2.5]),
        (inverse, [2.5, 1.25, 2.5 / 3, 0.625]),
    ],
)
def test_formula(make: Callable[[float], Rate], expected: list[float]) -> None:
    assert [make(2.5)(t) for t in (1, 2, 3, 4)] == pytest.approx(expected, rel=1e-15)


def test_planned_rate() -> None:
    """Compare the planned rate with D/√(T·(S²/2 + E‖noise‖²)), using numbers that all differ."""
    assert planned_rate(3.0, 50, 0.2, 0.16) == pytest.approx(3.0 / math.sqrt(50 * (0.02 + 0.16)))
    assert planned_rate(3.0, 200, 0.2, 0.16) == pytest.approx(planned_rate(1.5, 50, 0.2, 0.16))


@pytest.mark.parametrize("make", [inverse_sqrt, constant, inverse, adagrad, dual_averaging])
@pytest.mark.parametrize("c", [0.0, -1.0, math.inf, -math.inf, math.nan])
def test_rejects(make: Callable[[float], Rate | Optimizer], c: float) -> None:
    with pytest.raises(InvalidInput, match=f"c must be positive and finite, found {c}"):
        make(c)


def test_a_reach_from_a_pilot() -> None:
    """Check the rule's numbers and its limits: no noise, and nothing but noise."""
    assert pilot_reach(4.0, 120, 2, 0.5, 10_000) == pytest.approx(4 * (1 + 50 / 120) * 4 * 0.5)
    assert pilot_reach(4.0, 200, None, math.inf, 9) == pytest.approx(4 * 1.25)
    assert pilot_reach(4.0, 200, None, 0.01, 9) == pytest.approx(0.03)
    assert pilot_reach(400.0, 200, None, 0.01, 9, scale=100.0) == pytest.approx(3.0)

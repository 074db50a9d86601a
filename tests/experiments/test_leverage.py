"""Check in small runs that a liar pushes as hard as docs/threats.md says."""

import math

import pytest

from crowdml.simulation import load_dataset
from experiments.figures.leverage import choice_of, leverages, pushed


def test_short_gradients_give_a_liar_leverage() -> None:
    """Check that a liar's leverage grows as gradients become short. Seeded.

    At first gradients are longer than S, and a liar has the leverage of `Choice.leverage`. Where
    the model is learnt, gradients are shorter, and the leverage is several times as large.
    """
    first, *_, last = leverages(load_dataset("activity"), 10, math.inf, trials=1)[0]
    assert choice_of(4.0).leverage == pytest.approx(2.15, abs=0.01)
    assert 2.15 <= first < 5
    assert 6 < last < 14


def test_many_names_give_a_liar_a_choice() -> None:
    """Let a liar choose the best of ten names: the largest of 10,240 normals instead of 1,024."""
    assert pushed(1, 40, trials=100) == pytest.approx(2.15, abs=0.05)
    assert pushed(10, 40, trials=20) == pytest.approx(2.53, abs=0.1)

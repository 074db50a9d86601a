"""A liar pushes as hard as docs/threats.md says, in small runs."""

import math

import pytest

from crowdml.simulation import load_dataset
from experiments.figures.leverage import choice_of, leverages, pushed


def test_short_gradients_give_a_liar_leverage() -> None:
    """At first gradients are longer than S, and a liar has what `Choice.leverage` says. Where the
    model is learnt they are shorter, and he has several times as much. Seeded."""
    first, *_, last = leverages(load_dataset("activity"), 10, math.inf, trials=1)[0]
    assert choice_of(4.0).leverage == pytest.approx(2.15, abs=0.01)
    assert 2.15 <= first < 5
    assert 6 < last < 14


def test_many_names_give_a_liar_a_choice() -> None:
    """The best of ten names: the largest of 10,240 normals instead of 1,024. Names are fixed."""
    assert pushed(1, 40, trials=100) == pytest.approx(2.15, abs=0.05)
    assert pushed(10, 40, trials=20) == pytest.approx(2.53, abs=0.1)

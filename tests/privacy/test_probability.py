"""How likely a number was: the law of what a check-in tells, known exactly."""

import math

import numpy as np
import pytest

from crowdml.models import Minibatch, Softmax
from crowdml.privacy import Directed, DirectionMechanism, Place, SystemChance
from crowdml.types import Array

SIZE, CLASSES = 6, 3
DRAWS = 20_000


def minibatch(gain: float) -> Minibatch:
    """Four samples of one label, whose gradient is as long as `gain` says."""
    x: Array = gain * np.array([[0.6, 0.1], [0.5, 0.3], [0.2, 0.7], [0.4, 0.4]])
    return Minibatch(Softmax(2, CLASSES), np.zeros(SIZE), x, np.array([0.0, 0.0, 0.0, 2.0]))


def mechanism(**changes: float) -> DirectionMechanism:
    settings = {"epsilon": 2.0, "directions": 8, "closest": 3, "size": SIZE, "batch": 4}
    return DirectionMechanism(**(settings | {"n_classes": CLASSES} | changes))  # type: ignore[arg-type]


@pytest.mark.parametrize(("evaluators", "key"), [(0.0, "direction"), (0.9999, "report")])
@pytest.mark.parametrize("gain", [1.0, 0.05])
def test_it_is_the_law_of_what_is_told(evaluators: float, key: str, gain: float) -> None:
    """Frequencies agree with it: 32 comparisons, each wrong with a chance of less than 1e-9.

    A gradient that is shorter than S is turned round by chance, which the law has to know.
    """
    how, samples, place = mechanism(evaluators=evaluators), minibatch(gain), Place("5e", "ana", 1)
    numbers = how.choice_at(place).k
    law = [how.probability(Directed(1, **{key: j}), samples, place) for j in range(numbers)]
    assert math.fsum(law) == pytest.approx(1)
    event, chance = how.event(4, place), SystemChance()
    told = [getattr(how.tell(samples, event, place, chance), key) for _ in range(DRAWS)]
    for j, p in enumerate(law):
        slack = 7 * math.sqrt(p * (1 - p) / DRAWS) + 20 / DRAWS
        assert abs(told.count(j) / DRAWS - p) < slack, j


@pytest.mark.parametrize("key", ["direction", "report"])
def test_two_probabilities_bound_it(key: str) -> None:
    """For samples of any kind; they are e^ε apart, at most."""
    how = mechanism(evaluators=0.9999 if key == "report" else 0.0)
    place = Place("5e", "ana", 1)
    choice = how.choice_at(place)
    assert choice.likely <= choice.unlikely * math.exp(how.epsilon)
    assert choice.likely * choice.t + choice.unlikely * (choice.k - choice.t) == pytest.approx(1)
    for gain in (1e-9, 0.01, 0.1, 1.0):
        for j in range(choice.k):
            p = how.probability(Directed(1, **{key: j}), minibatch(gain), place)
            assert choice.unlikely <= p <= choice.likely

"""Test that c and λ are chosen on samples set aside, unless requested otherwise."""

from dataclasses import replace

import numpy as np
import pytest

from crowdml.simulation import Crowd, Dataset, Learning, Plan, simulate, tune
from crowdml.simulation.plan import APPROACHES
from crowdml.simulation.tuning import RATES, REGULARIZATIONS, validation_split
from tests.simulation.toy import classes

CROWD = Crowd(devices=40, passes=2)
GIVEN = Learning(mechanism="laplace", c=1.0)


@pytest.mark.parametrize("people", [1, 10])
def test_validation_split_never_sees_the_test_set(people: int) -> None:
    data = replace(classes(), person=np.arange(300) % people)
    split = validation_split(data)
    rows = {tuple(row) for row in data.x_train}
    seen = [tuple(row) for row in np.concatenate([split.x_train, split.x_test])]
    assert set(seen) == rows
    assert len(seen) == 300
    assert 0.05 < len(split.x_test) / 300 < 0.3
    if people > 1:
        assert len(np.unique(split.person)) == 8


def scrambled(data: Dataset) -> Dataset:
    """Keep the training data, and give each class of the test set the next one's name."""
    return replace(data, y_test=(data.y_test + 1) % len(data.labels))


@pytest.mark.parametrize("approach", APPROACHES)
def test_the_test_set_has_no_say(approach: str) -> None:
    data, plan = classes(n=600), Plan(CROWD, replace(GIVEN, epsilon=20.0), approach)
    honest, blind = (tune(one, plan) for one in (data, scrambled(data)))
    assert honest == blind
    assert honest.learning.epsilon == 20.0
    assert honest.crowd == CROWD


@pytest.mark.parametrize("approach", ["crowd", "central-sgd", "decentral"])
def test_the_test_set_chooses_when_requested(approach: str) -> None:
    data, plan = classes(n=600), Plan(CROWD, GIVEN, approach)
    papers, misled = (tune(one, plan, on_test=True) for one in (data, scrambled(data)))
    assert papers != misled
    ours, theirs = simulate(data, [papers, misled])
    assert ours.final < theirs.final


@pytest.mark.parametrize("on_test", [False, True])
def test_the_best_of_the_grid_is_chosen(on_test: bool) -> None:
    data = classes(n=600)
    seen = data if on_test else validation_split(data)
    crowd = replace(CROWD, devices=round(40 * len(seen.y_train) / 600))
    curves = simulate(seen, [Plan(crowd, replace(GIVEN, c=c)) for c in RATES], points=1)
    best = RATES[int(np.argmin([curve.final for curve in curves]))]
    plan = tune(data, Plan(CROWD, GIVEN), regularization=False, on_test=on_test)
    assert plan == Plan(CROWD, replace(GIVEN, c=best))
    planned = Plan(CROWD, Learning(mechanism="laplace"))
    assert tune(data, planned, regularization=False, on_test=on_test).learning.spec.c == best


def test_a_rate_is_found_that_learns() -> None:
    data = classes(n=600)
    given = replace(GIVEN, c=1e-3)
    free = tune(data, Plan(Crowd(devices=40, passes=3), given)).learning.c
    private = tune(data, Plan(Crowd(devices=40), replace(given, epsilon=5.0))).learning.c
    assert free is not None
    assert private is not None
    assert free > 0.1
    assert private < free


def test_only_what_is_asked_for_is_chosen() -> None:
    learning = replace(GIVEN, epsilon=5.0, c=123.0, regularization=0.5)
    data, given = classes(), Plan(CROWD, learning)
    assert tune(data, given, rate=False, regularization=False) == given
    assert tune(data, given, regularization=False).learning.regularization == 0.5
    assert tune(data, given, regularization=False).learning.c in RATES
    assert tune(data, given, rate=False).learning.c == 123.0
    assert tune(data, given, rate=False).learning.regularization in REGULARIZATIONS
    batch = replace(given, approach="central-batch")
    assert tune(data, batch).learning.c == 123.0, "central batch has no c"

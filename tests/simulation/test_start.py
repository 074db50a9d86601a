"""A crowd that does not start at zero."""

from dataclasses import replace

import numpy as np
import pytest

from crowdml.errors import InvalidInput
from crowdml.protocol import MECHANISMS
from crowdml.simulation import Crowd, Learning, StartPoint, uniform_delay
from crowdml.simulation.fold import fold_slowly, learn
from crowdml.simulation.rule import Rule, model_for
from crowdml.simulation.trial import prepare
from crowdml.types import Array
from tests.simulation.toy import classes, numbers

CROWD = Crowd(devices=20, batch=4, delay=uniform_delay(20), passes=2)
OPTIMIZERS = [("sgd", "planned"), ("sgd", "sqrt"), ("adagrad", None), ("dual-averaging", None)]


def a_start(learning: Learning, scale: float = 2.0) -> Learning:
    data = classes() if learning.model == "softmax" else numbers()
    w = np.random.default_rng(1).normal(0, scale, model_for(learning, data).size)
    return replace(learning, start=StartPoint(w, distance=1.0, rows=100, people=2))


def both(learning: Learning) -> tuple[Array, Array]:
    """The parameters at six points by the compiled fold and by the obvious one."""
    data = classes() if learning.model == "softmax" else numbers()
    schedule = prepare(data, CROWD, np.random.default_rng(0))
    stops = np.linspace(0, schedule.n_checkins, 6).astype(np.int64)
    fast, _ = learn(data, schedule, learning, stops, np.random.default_rng(0))
    slow, _ = fold_slowly(data, schedule, learning, stops, np.random.default_rng(0))
    return fast, slow


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize(("optimizer", "rate"), OPTIMIZERS)
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("model", ["softmax", "huber"])
def test_compiled_and_obvious_folds_agree_from_a_start(
    mechanism: str, optimizer: str, rate: str | None, intercept: bool, model: str
) -> None:
    c = None if rate == "planned" else 0.5
    for averaging in (None, 3.0):
        learning = Learning(
            mechanism=mechanism,
            optimizer=optimizer,
            rate=rate,
            c=c,
            averaging=averaging,
            model=model,
            intercept=intercept,
        )
        learning = a_start(learning)
        fast, slow = both(learning)
        assert learning.start is not None
        np.testing.assert_array_equal(slow[0], learning.start.w)
        np.testing.assert_allclose(fast, slow, atol=3e-4 * np.abs(slow).max())
        assert np.abs(slow[-1] - slow[0]).max() > 0.01


def test_the_reach_is_the_pilots_unless_one_is_given() -> None:
    data = classes()
    schedule = prepare(data, CROWD, np.random.default_rng(0))
    learning = Learning(epsilon=1.0)
    started = a_start(learning)
    assert started.start is not None

    def c(learning: Learning) -> float:
        return Rule.of(learning, data, schedule).step.c or 0.0

    unknown = replace(started, start=StartPoint(started.start.w))
    assert c(unknown) == c(learning)
    assert c(replace(started, reach=7.0)) == c(replace(learning, reach=7.0))
    # ρ is far below 1 here, so D is a part of d_boot·(1 + 50/100)·(1 + 6/2) = 6 or ρ·√21.
    stand_in = Rule.of(started, data, schedule).stand_in
    ratio = stand_in.length * np.sqrt(schedule.n_checkins / stand_in.noise_energy)
    assert ratio < 1
    reach = min(6 * ratio, ratio * np.sqrt(21))
    assert c(started) == pytest.approx(c(replace(learning, reach=reach)))


def test_a_start_that_does_not_fit_is_rejected() -> None:
    data = classes()
    schedule = prepare(data, CROWD, np.random.default_rng(0))
    with pytest.raises(InvalidInput, match="has 21 parameters, found a start with 20"):
        Rule.of(Learning(start=StartPoint(np.zeros(20))), data, schedule)
    with pytest.raises(InvalidInput, match=r"one row of finite numbers, found the shape \(2, 2\)"):
        StartPoint(np.zeros((2, 2)))
    with pytest.raises(InvalidInput, match=r"the pilot's rows, found 1\.0 with rows None"):
        StartPoint(np.zeros(2), distance=1.0)

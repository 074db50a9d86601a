"""Test a pilot that is set aside, and crowds that start from it."""

from dataclasses import replace

import numpy as np
import pytest

from crowdml.errors import InvalidInput
from crowdml.pilot import fit_start
from crowdml.simulation import (
    Crowd,
    CurveSettings,
    Learning,
    Plan,
    StartPoint,
    central_batch,
    error_rate,
    load_activity,
    model_for,
    set_aside,
    simulate,
)
from crowdml.simulation import pilot as pilots
from crowdml.simulation.trial import run_trial
from tests.simulation.room_climate import after_a_pilot
from tests.simulation.toy import classes

CROWD = Crowd(devices=100, batch=52, pilot=120)


def test_a_pilot_is_of_whole_people_or_of_random_samples() -> None:
    data = load_activity()
    pilot, rest = set_aside(data, 121, 3, np.random.default_rng(0))
    people, sizes = np.unique(pilot.person, return_counts=True)
    assert sorted(sizes) == [40, 40, 41]
    assert not set(people) & set(rest.person)
    assert len(rest.y_train) == (~np.isin(data.person, people)).sum()
    other, _ = set_aside(data, 121, 3, np.random.default_rng(1))
    assert set(other.person) != set(people)
    toy = classes()
    pilot, rest = set_aside(toy, 50, None, np.random.default_rng(0))
    assert (len(pilot.y_train), len(rest.y_train)) == (50, 250)
    both = np.vstack([pilot.x_train, rest.x_train])
    assert sorted(map(tuple, both)) == sorted(map(tuple, toy.x_train))


def test_all_crowds_of_a_trial_start_from_one_pilot(monkeypatch: pytest.MonkeyPatch) -> None:
    """Check for one fit per norm, for any number of plans, and for another pilot in each trial."""
    fitted: list[float] = []

    def counted(*args: object, **settings: object) -> object:
        found = fit_start(*args, **settings)  # type: ignore[arg-type]
        fitted.append(found.distance)
        return found

    monkeypatch.setattr(pilots, "fit_start", counted)
    learnings = [
        Learning(mechanism=mechanism, epsilon=epsilon)
        for mechanism in ("direction", "laplace", "gaussian")
        for epsilon in (1.0, 4.0)
    ]
    plans = [Plan(CROWD, learning) for learning in learnings]
    curves = run_trial(load_activity(), plans, (0, 0), points=1)
    assert len(fitted) == 2
    for curve in curves:
        assert curve.errors[0, 0] == curve.pilot_error
    alone = replace(plans[0], approach="decentral")
    central = replace(plans[0], approach="central-batch")
    for plan in (alone, central):
        assert run_trial(load_activity(), [plan], (0, 0))[0].pilot_error == curves[0].pilot_error
    run_trial(load_activity(), plans, (0, 1), points=1)
    assert len(set(fitted)) == 4


def test_a_pilot_makes_a_small_epsilon_usable() -> None:
    """Compare crowds with and without a pilot, with this seed; nothing else is random."""
    plans = [Plan(crowd, Learning(epsilon=1.0)) for crowd in (CROWD, replace(CROWD, pilot=None))]
    started, zero = simulate(load_activity(), plans, trials=3)
    assert started.final <= 0.02 < zero.final
    assert started.pilot_error == started.mean[0]
    assert started.pilot_error is not None
    assert zero.pilot_error is None
    assert started.final <= started.pilot_error + 0.01


def test_a_crowd_walks_away_from_one_odd_person() -> None:
    """Run ten pilots of one person each, with this seed; the oddest errs at 0.084 alone.

    Without the factor (1 + 6/P) of its reach, that crowd stays at 0.035.
    """
    plan = Plan(replace(CROWD, pilot_people=1), Learning(epsilon=4.0))
    (curve,) = simulate(load_activity(), [plan], trials=10, seed=1, points=1)
    assert curve.errors[:, 0].max() > 0.08
    assert curve.errors[:, -1].max() <= 0.02


def test_readings_in_their_own_units_after_a_pilot_of_two() -> None:
    """Compare the mean of five crowds at ε = 2, each with its own pilot and a fixed seed.

    The middle label needs intercepts and a start: both crowds from zero end far above.
    """
    errors = []
    for seed in range(5):
        data, start = after_a_pilot(seed, intercept=True)
        learnings = (
            Learning(epsilon=2.0, intercept=True, start=start),
            Learning(epsilon=2.0),
            Learning(epsilon=2.0, intercept=True),
        )
        plans = [Plan(Crowd(devices=120, batch=40), learning) for learning in learnings]
        curves = simulate(data, plans, seed=seed, points=1)
        seen, model = data.bounded(2), model_for(learnings[0], data)
        w = central_batch(model, seen.x_train, seen.y_train, 1e-6)
        central = error_rate(model, w, seen.x_test, seen.y_test)
        errors.append([central, *(curve.final for curve in curves)])
    central, started, plain, zero = np.mean(errors, axis=0)
    assert started <= central + 0.03
    assert min(plain, zero) > central + 0.15


def test_devices_count_the_crowd_alone() -> None:
    data = load_activity()
    without = CurveSettings(mechanism="laplace")
    assert without.default_devices(data) == 18
    assert CurveSettings(mechanism="laplace", pilot=100).default_devices(data) == 16
    assert CurveSettings(mechanism="laplace", pilot=100, pilot_people=5).default_devices(data) == 13
    assert CurveSettings(pilot=120, batch=52).plan(data).crowd.pilot == 120


@pytest.mark.parametrize(
    ("crowd", "says"),
    [
        (Crowd(20, pilot=300), "fewer than the 300 samples of toy, found 300"),
        (Crowd(20, pilot=50, pilot_people=2), "does not say whose samples they are"),
    ],
)
def test_a_pilot_must_leave_a_crowd(crowd: Crowd, says: str) -> None:
    with pytest.raises(InvalidInput, match=says):
        simulate(classes(), [Plan(crowd, Learning())])


def test_a_pilot_that_cannot_be_is_rejected() -> None:
    with pytest.raises(InvalidInput, match="fewer than the 18 people of activity, found 18"):
        simulate(load_activity(), [Plan(replace(CROWD, pilot_people=18), Learning())])
    with pytest.raises(InvalidInput, match="pilot_people needs a pilot, found 2 people"):
        Crowd(pilot_people=2)
    with pytest.raises(InvalidInput, match="pilot must lie in 1 … 1,000,000,000, found 0"):
        Crowd(pilot=0)
    with pytest.raises(InvalidInput, match="a pilot or a start, found both"):
        Plan(CROWD, Learning(start=StartPoint((0.0,) * 36)))

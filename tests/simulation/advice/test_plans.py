"""Test that a plan simulates the task as it is, with everything that a task file says."""

from typing import Any

import numpy as np
import pytest

from crowdml.privacy import Role
from crowdml.protocol import Task, recommended_fields, set_fields
from crowdml.simulation import ExpectedCrowd
from crowdml.simulation.advice.plans import (
    TaskVariant,
    own_variant,
    plan_for,
    task_of_variant,
    with_epsilon,
)
from crowdml.simulation.datasets import synthetic
from crowdml.simulation.learning_setup import LearningSetup
from crowdml.simulation.trial import schedule_of_crowd
from experiments.figures.forecasts import FILE

GAUSSIAN = {"privacy.mechanism": "gaussian", "privacy.epsilon": 2.0}
CHANGES: dict[str, dict[str, Any]] = {
    "updates": {"stop.updates": 20_000},
    "few updates": {"stop.updates": 30},
    "directions": {"privacy.directions": 64},
    "evaluators": {"collection.evaluators": 0.5, "collection.counters": 0.0},
    "checkins": {"collection.checkins": 4, "collection.batch": 5},
    "delta": GAUSSIAN | {"privacy.delta": 1e-12},
    "epsilon_e": GAUSSIAN | {"privacy.epsilon_e": 0.9},
    "epsilon_y": GAUSSIAN | {"privacy.mechanism": "laplace", "privacy.epsilon_y": 0.9},
    "heldout": GAUSSIAN | {"collection.heldout": 0.4},
    "by hand": {"optimizer.reach": 7.0, "optimizer.averaging": 1.0, "model.regularization": 0.01},
}
CROWD = ExpectedCrowd(devices=50, samples=20)


def task(**changes: Any) -> Task:
    return Task.from_toml(set_fields(FILE, changes))


@pytest.mark.parametrize("name", CHANGES)
def test_the_rate_and_the_noise_match_the_server(name: str) -> None:
    asked = task(**CHANGES[name])
    plan, data = plan_for(asked, CROWD, 50), synthetic(1000, 10, ("a", "b", "c"), "easy", rng())
    schedule = schedule_of_crowd(data, plan.crowd, rng())
    setup = LearningSetup.of(plan.learning, data, schedule.training)
    updates = asked.t_max * asked.terms.collection.roles.share(Role.TRAIN)
    known = asked.terms.mechanism()
    step = asked.optimizer.with_plan(updates, known, asked.reach)
    assert setup.spec == step
    assert setup.stand_in.noise_energy == known.noise_energy
    assert schedule.n_checkins <= asked.t_max
    heldout = int(asked.terms.collection.heldout * asked.terms.collection.batch)
    sizes = set(np.diff(schedule.training.start).tolist())
    assert sizes == {asked.terms.collection.batch - heldout}


def test_each_of_these_changes_what_is_simulated() -> None:
    plans = {name: plan_for(task(**changes), CROWD, 50) for name, changes in CHANGES.items()}
    usual = plan_for(task(**GAUSSIAN), CROWD, 50), plan_for(task(), CROWD, 50)
    assert len({*plans.values(), *usual}) == len(plans) + 2


def test_a_part_of_the_crowd_has_a_part_of_the_updates() -> None:
    whole, part = (plan_for(task(), CROWD, devices).crowd.updates for devices in (50, 25))
    assert (whole, part) == (150, 75)


@pytest.mark.parametrize("mechanism", ["direction", "gaussian", "laplace"])
def test_an_option_is_the_task_that_the_recommended_fields_make(mechanism: str) -> None:
    variant, changes = TaskVariant(mechanism, 10, 2), CHANGES["heldout"] | {"optimizer.c": 3.0}
    fields = recommended_fields(*variant, devices=50)
    if mechanism == "direction":
        changes = CHANGES["directions"] | {"optimizer.reach": 3.0}
    written = Task.from_toml(set_fields(set_fields(FILE, changes), fields))
    made = task_of_variant(task(**changes), 50, variant)
    assert made.terms.collection == written.terms.collection
    assert made.terms.model == written.terms.model
    assert (made.stop, made.optimizer) == (written.stop, written.optimizer)
    noise = [each.terms.mechanism().noise_energy for each in (made, written)]
    assert noise[0] == pytest.approx(noise[1], rel=1e-12)


def test_another_epsilon_has_the_same_parts() -> None:
    asked = task(**CHANGES["epsilon_y"])
    other = with_epsilon(asked, 1.0).terms.privacy
    assert other.epsilon_y == pytest.approx(0.45)  # type: ignore[attr-defined]
    assert with_epsilon(asked, 2.0) is asked


def test_too_few_samples_are_no_way() -> None:
    assert own_variant(task(), CROWD) == TaskVariant("direction", 20, 1)
    assert own_variant(task(), ExpectedCrowd(50, 19)) is None


def rng() -> np.random.Generator:
    return np.random.default_rng(0)

"""Test what a task keeps of a start, how far w goes from it, and which starts do not fit."""

import math
from typing import Any

import msgspec
import numpy as np
import pytest

from crowdml.errors import InvalidInput, InvalidTask
from crowdml.optim import pilot_reach, planned_rate
from crowdml.privacy import Role
from crowdml.protocol import MECHANISMS, Task, Terms
from tests.protocol.files import task_file
from tests.protocol.starts import make_start
from tests.support.servers import make_direction_task, make_task

NUMBER: dict[str, Any] = {"target__labels": None, "model__clip": 1.0, "target__scale": 30.0}


def test_the_terms_name_the_start() -> None:
    start = make_start()
    task = make_task(start=start, model__pilot="our office")
    said = task.terms.model.start
    assert said is not None
    assert (said.sha256, said.rows, said.people, said.words) == (start.sha256, 200, 4, "our office")
    assert Terms.parse(task.terms.text) == task.terms
    assert Task.from_json(msgspec.json.encode(task)) == task
    assert task.w0 is not None
    assert task.w0.tolist() == start.w.tolist()
    assert task.start is not None
    assert (task.start.distance, task.start.error, task.start.error_margin) == (2.5, 0.2, 0.05)
    assert make_task().w0 is None
    assert task.terms.text != make_task().terms.text


def test_a_model_with_intercepts_may_start_from_one_without() -> None:
    task = make_task(start=make_start(), model__intercept=True)
    assert task.w0 is not None
    assert task.w0.tolist() == [*make_start().w, 0, 0, 0]


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("number", [False, True])
@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("distance", [2.5, 1e6], ids=["sure", "at the bound of the noise"])
def test_the_start_decides_how_far_w_goes(
    distance: float, mechanism: str, number: bool, intercept: bool
) -> None:
    norm = MECHANISMS[mechanism].terms.norm
    labels = () if number else ("still", "walk", "run")
    changes: dict[str, Any] = {"optimizer__c": None, "model__intercept": intercept}
    changes |= {"privacy__mechanism": mechanism, "model__kind": "ridge" if number else "softmax"}
    changes |= NUMBER if number else {}
    if mechanism == "direction":
        changes |= {"privacy__epsilon": 4.0, "collection__checkins": 1, "model__clip": None}
    task = make_task(start=make_start(labels, norm=norm, distance=distance), **changes)
    known, d = task.terms.mechanism(), task.terms.make_model().size
    assert d == (4 + intercept) * max(len(labels), 1)
    updates = task.t_max * task.terms.collection.roles.share(Role.TRAIN)
    rho = known.length * math.sqrt(updates / known.noise_energy)
    reach = pilot_reach(distance, 200, 4, rho, d, 30.0 if number else 1.0)
    assert task.reach_from_start is not None
    assert task.reach_from_start.reach_for(rho) == reach
    spec = task.optimizer.with_plan(updates, known, task.reach, task.reach_from_start)
    assert spec.c == planned_rate(reach, updates, known.length, known.noise_energy)
    own = msgspec.structs.replace(task.optimizer, reach=7.0)
    assert own.with_plan(updates, known, task.reach, task.reach_from_start).c == planned_rate(
        7.0, updates, known.length, known.noise_energy
    )
    unsure = make_task(start=make_start(labels, norm=norm, distance=None), **changes)
    assert unsure.reach_from_start is None
    moved = [
        each.make_optimizer().update(
            each.make_optimizer().init(np.zeros(d)), np.zeros(d), np.ones(d) / d, 0
        )[1][0]
        for each in (task, make_task(start=None, **changes))
    ]
    assert moved[0] / moved[1] == pytest.approx(reach / (task.reach * math.sqrt(min(1.0, rho)))), (
        "the server steps by it"
    )


WRONG: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    ({"labels": ("still", "run", "walk")}, {}, "must have the labels of target.labels"),
    ({"labels": ("still", "walk")}, {}, "must have the labels of target.labels"),
    ({"labels": ()}, {}, "must be of a kind like softmax, found ridge"),
    ({}, {"features__count": 5}, "must have weights for 5 features, found 4"),
    ({"intercepts": np.ones(3)}, {}, "must have no intercepts where model.intercept is false"),
    ({"names": tuple("abcd")}, {"features__names": list("abdc")}, 'order: d, found "c"'),
    ({"center": (1.0,) * 4}, {}, "the task's features.center"),
    ({"scale": (2.0,) * 4}, {"features__scale": [2.0, 2.0, 2.0, 3.0]}, "features.scale"),
    ({"length": 2.0}, {"features__length": 2.5}, "features.length"),
    ({"norm": 2}, {}, "bounded in L1, as the mechanism laplace does, found L2"),
    ({"weights": np.full((3, 4), 500.0)}, {}, "model.radius must be at least the length"),
]


@pytest.mark.parametrize(("start", "task", "match"), WRONG)
def test_a_start_that_does_not_fit(start: dict[str, Any], task: dict[str, Any], match: str) -> None:
    with pytest.raises(InvalidTask, match=match):
        make_task(start=make_start(**start), **task)


def test_constants_that_fit() -> None:
    constants: dict[str, Any] = {"center": (0.0, 1.0, 2.0, 3.0), "scale": (2.0,) * 4, "length": 2.5}
    fields = {f"features__{name}": value for name, value in constants.items()}
    start = make_start(names=tuple("abcd"), missing="center", **constants)
    assert make_task(start=start, features__names=list("abcd"), **fields).start is not None


def test_a_start_is_read_with_the_task() -> None:
    with pytest.raises(InvalidTask, match=r"model\.start must be read together with the task file"):
        Task.from_toml(task_file({"model.start": '"a.start.npz"'}))
    with pytest.raises(InvalidTask, match=r"model\.pilot is about the pilot of a start"):
        Task.from_toml(task_file({"model.pilot": '"our office"'}))


def test_a_start_that_was_changed_after_creation() -> None:
    task = make_direction_task(start=make_start(norm=2))
    assert task.start is not None
    other = msgspec.structs.replace(task.start, data=bytes(4) + task.start.data[4:])
    for start in (other, None):
        with pytest.raises(InvalidInput, match=r"the hash that its terms name.*restore a backup"):
            _ = msgspec.structs.replace(task, start=start).w0
    with pytest.raises(InvalidInput, match=r"found [0-9a-f]{64}"):
        _ = msgspec.structs.replace(make_direction_task(), start=other).w0

"""Test what follows from the contents of task files."""

import math
from types import SimpleNamespace
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crowdml.errors import InvalidTask
from crowdml.models import Hinge, Huber, Ridge, Softmax
from crowdml.optim import OPTIMIZERS, RATES, planned_rate
from crowdml.privacy import DirectionMechanism, NoiseEvent, NoiseMechanism
from crowdml.protocol import MECHANISMS, Task, Terms
from crowdml.protocol.mechanisms.noise_terms import LaplaceTerms
from crowdml.protocol.task.task_file import OptimizerSpec
from tests.protocol.files import REGRESSION, task_file


@pytest.mark.parametrize(
    "sensor",
    [
        '{kind = "motion"}',
        '{kind = "light", transform = "summary", scale = 1000}',
        '{kind = "manual", transform = "values", fields = ["a", "b", "c", "d"]}',
        '{kind = "sound", window = 4, trigger = "label-change", every = 0}',
    ],
)
def test_sensors_are_part_of_the_terms(sensor: str) -> None:
    task = Task.from_toml(task_file({"features.sensor": sensor}))
    assert task.terms.features.sensor is not None
    assert Terms.parse(task.terms.text) == task.terms
    assert task.terms.text != Task.from_toml(task_file()).terms.text


BILLION = ["model.clip", "model.radius", "model.delta", "model.tolerance", "optimizer.c"]
LARGEST = {
    **dict.fromkeys(BILLION, 1e9),
    "model.regularization": 1e6,
    "optimizer.averaging": 1e3,
}


@pytest.mark.parametrize("name", LARGEST)
@pytest.mark.parametrize("changes", [{}, REGRESSION])
def test_largest_numbers_are_taken(name: str, changes: dict[str, str | None]) -> None:
    """Check that the largest numbers are accepted, and that a device can read the terms."""
    task = Task.from_toml(task_file({**changes, name: str(LARGEST[name])}))
    assert Terms.parse(task.terms.text) == task.terms
    task.make_optimizer()


WHOLE: dict[str, str | None] = {"privacy.mechanism": '"direction"', "optimizer.rate": None}


@pytest.mark.parametrize(
    ("changes", "evaluators", "counters"),
    [
        ({}, 0.15, 0.05),
        (REGRESSION, 0.15, 0.0),
        ({"collection.evaluators": "0"}, 0.0, 0.05),
        ({"collection.evaluators": "0", "collection.counters": "0"}, 0.0, 0.0),
        ({"collection.counters": "0"}, 0.15, 0.0),
        ({"collection.evaluators": "0.9"}, 0.9, 0.0),
        ({"collection.evaluators": "0.88"}, 0.88, 0.02),
        ({"collection.counters": "0.9"}, 0.0, 0.9),
        ({"collection.evaluators": "0.6", "collection.counters": "0.3"}, 0.6, 0.3),
    ],
)
def test_shares_of_the_roles(
    changes: dict[str, str | None], evaluators: float, counters: float
) -> None:
    """Check that default shares leave one check-in in ten for training, and that devices agree."""
    task = Task.from_toml(task_file({**WHOLE, **changes}))
    roles = task.terms.collection.roles
    assert (roles.evaluators, roles.counters) == pytest.approx((evaluators, counters))
    assert Terms.parse(task.terms.text) == task.terms
    mechanism = task.terms.mechanism()
    assert isinstance(mechanism, DirectionMechanism)
    assert mechanism.roles == roles


def test_the_rate_is_planned_for_training_check_ins() -> None:
    """Check that check-ins that evaluate and check-ins that count reduce the steps alike."""
    steps = []
    for evaluators, counters in (("0.4", "0"), ("0", "0.4"), ("0", "0")):
        shares = {"collection.evaluators": evaluators, "collection.counters": counters}
        task = Task.from_toml(task_file({**WHOLE, **shares}))
        optimizer, w = task.make_optimizer(), np.zeros(2)
        steps.append(optimizer.update(optimizer.init(w), w, np.ones(2), 0)[1].tolist())
    assert steps[0] == steps[1] != steps[2]


@pytest.mark.parametrize("mechanism", ["laplace", "gaussian", "direction"])
@pytest.mark.parametrize("mode", ["open", "invite"])
def test_an_owner_is_shown_what_liars_can_do(mechanism: str, mode: str) -> None:
    changes: dict[str, str | None] = {
        "privacy.mechanism": f'"{mechanism}"',
        "enrolment.mode": f'"{mode}"',
    }
    warning = Task.from_toml(task_file(changes)).liar_warning
    assert (warning is not None) == (mode == "open" and mechanism != "direction")
    if warning is not None:
        assert f"{MECHANISMS[mechanism].errors_without_and_with_liars[1]}" in str(warning)  # type: ignore[index]


def test_defaults() -> None:
    task = Task.from_toml(task_file())
    assert (task.name, task.title) == ("activity", "Activity")
    assert task.terms.model.clip == 2.0
    assert task.terms.collection.heldout == 0.0
    assert task.optimizer.kind == "sgd"
    assert task.enrolment.mode == "open"
    assert task.stop.error is None
    assert task.terms.make_model() == Softmax(4, 3)


@pytest.mark.parametrize(
    ("changes", "levels"),
    [
        ({}, (0.9, 0.05, 0.05)),
        ({"privacy.epsilon": "3.0"}, (2.7, 0.15, 0.15)),
        ({"privacy.epsilon_e": "0.2"}, (0.75, 0.2, 0.05)),
        ({"privacy.epsilon_y": "0.3"}, (0.65, 0.05, 0.3)),
        ({"collection.heldout": "0.2"}, (0.95, 0.95, 0.05)),
        ({"collection.heldout": "0.2", "privacy.epsilon_e": "0.4"}, (0.95, 0.4, 0.05)),
        ({"collection.heldout": "0.09"}, (0.9, 0.05, 0.05)),
        (REGRESSION, (0.95, 0.05, 0.0)),
        ({"privacy.epsilon": "inf"}, (math.inf, math.inf, math.inf)),
        ({**REGRESSION, "privacy.epsilon": "inf"}, (math.inf, math.inf, 0.0)),
    ],
)
def test_epsilon_is_split(
    changes: dict[str, str | None], levels: tuple[float, float, float]
) -> None:
    terms = Task.from_toml(task_file(changes)).terms
    assert isinstance(terms.privacy, LaplaceTerms)
    assert terms.privacy.levels == pytest.approx(levels)
    total = float(terms.privacy.epsilon)
    assert terms.loss.total == pytest.approx(total)
    assert terms.private == math.isfinite(total)


levels = st.floats(-7, 7).map(lambda power: repr(10**power))


@settings(deadline=None)
@given(
    st.fixed_dictionaries(
        {"privacy.epsilon": levels, "collection.batch": st.integers(1, 20).map(str)},
        optional={
            "privacy.epsilon_e": levels,
            "privacy.epsilon_y": levels,
            "collection.heldout": st.floats(0, 0.5).map(repr),
            "model.clip": st.floats(-9, 9).map(lambda power: repr(10**power)),
            "model.regularization": st.sampled_from(["0.0", "1e6"]),
        },
    )
)
def test_what_a_file_may_say_a_device_can_do(changes: dict[str, str | None]) -> None:
    """Check that no task has terms that a device would reject, or noise that it could not add."""
    try:
        task = Task.from_toml(task_file(changes))
    except InvalidTask:
        return
    assert Terms.parse(task.terms.text) == task.terms
    assert task.terms.loss.total <= float(task.terms.privacy.epsilon) * (1 + 1e-9)


@pytest.mark.parametrize("heldout", ["0.0", "0.05", "0.1", "0.3", "0.5"])
@pytest.mark.parametrize("batch", ["1", "2", "7", "10"])
def test_no_minibatch_costs_more_than_stated(heldout: str, batch: str) -> None:
    """Check all minibatch sizes.

    A larger minibatch after an outage, with another number of held-out samples, must not cost more.
    """
    changes: dict[str, str | None] = {
        "collection.heldout": heldout,
        "collection.batch": batch,
        "collection.buffer": "60",
    }
    terms = Task.from_toml(task_file(changes)).terms
    for n in range(terms.collection.batch, 61):
        event = terms.event(n)
        assert isinstance(event, NoiseEvent)
        assert 0 <= event.n_heldout < n
        assert event.loss.total <= 1.0 + 1e-9


@pytest.mark.parametrize(
    ("changes", "model", "clip"),
    [
        ({"model.intercept": "true"}, Softmax(4, 3, True), 4.0),
        ({"model.kind": '"hinge"', "model.clip": "0.5"}, Hinge(4, 3), 0.5),
        ({"model.clip": "100.0"}, Softmax(4, 3), 2.0),
        (
            {**REGRESSION, "model.delta": "0.3", "model.tolerance": "0.7"},
            Huber(4, tolerance=0.7, delta=0.3),
            0.3,
        ),
        ({**REGRESSION, "model.kind": '"ridge"', "model.clip": "9.0"}, Ridge(4), 9.0),
    ],
)
def test_model(changes: dict[str, str | None], model: object, clip: float) -> None:
    terms = Task.from_toml(task_file(changes)).terms
    assert terms.make_model() == model
    assert terms.model.clip == clip
    mechanism = terms.mechanism()
    assert isinstance(mechanism, NoiseMechanism)
    assert mechanism.clip == clip


@pytest.mark.parametrize("kind", OPTIMIZERS)
@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("averaging", [None, "8"])
def test_every_optimizer_can_be_made(kind: str, rate: str, averaging: str | None) -> None:
    changes: dict[str, str | None] = {
        "optimizer.kind": f'"{kind}"',
        "optimizer.rate": f'"{rate}"',
        "optimizer.averaging": averaging,
        "optimizer.c": "1.0",
        "model.radius": "0.5",
    }
    optimizer = Task.from_toml(task_file(changes)).make_optimizer()
    w = np.zeros(12)
    state = optimizer.init(w)
    for _ in range(20):
        state, w = optimizer.update(state, w, np.full(12, -1.0), 0)
    assert 0.1 < np.linalg.norm(w) <= 0.5 * (1 + 1e-12)
    planned = rate == "planned" and OPTIMIZERS[kind].has_rate
    assert ("average" in state) == (averaging is not None or planned)


def test_round_trip_as_the_server_keeps_it() -> None:
    task = Task.from_toml(task_file({"stop.error": "0.2", "optimizer.averaging": "3"}))
    assert Task.from_json(msgspec.json.encode(task)) == task
    assert Terms.parse(task.terms.text) == task.terms


def mechanism_with(noise: float) -> Any:
    """Make a mechanism with gradients of length 1 beneath noise of this length."""
    return SimpleNamespace(length=1.0, noise_energy=noise**2)


def test_a_crowd_that_is_lost_in_its_noise_goes_less_far() -> None:
    """Check that a hundred gradients of length 1 stand out from noise of length 10, not of 40."""
    spec = OptimizerSpec()
    heard, lost = (spec.with_plan(100, mechanism_with(noise), 40.0) for noise in (10.0, 40.0))
    assert heard.c == planned_rate(40.0, 100, 1.0, 100.0)
    assert heard.averaging == 3.0
    assert lost.c == planned_rate(20.0, 100, 1.0, 1600.0)
    assert lost.averaging == 12.0
    by_hand = OptimizerSpec(reach=40.0, averaging=1.0).with_plan(100, mechanism_with(40.0), 1.0)
    assert (by_hand.c, by_hand.averaging) == (planned_rate(40.0, 100, 1.0, 1600.0), 1.0)


def test_a_number_that_is_too_large_is_not_infinity() -> None:
    """Check that a huge ε is rejected: infinity would mean no noise at all."""
    with pytest.raises(InvalidTask, match="1e400 is too large"):
        Task.from_toml(task_file({"privacy.epsilon": "1e400"}))


ROOM: dict[str, str | None] = {
    "features.count": None,
    "features.names": '["light", "warmth"]',
    "features.center": "[300, 21.5]",
}


def test_what_follows_from_names_and_centers() -> None:
    terms = Task.from_toml(task_file(ROOM)).terms
    assert terms.features.count == 2
    assert terms.model.intercept, "differences from a center need a constant"
    assert Terms.parse(terms.text) == terms
    assert not Task.from_toml(task_file(ROOM | {"model.intercept": "false"})).terms.model.intercept
    assert not Task.from_toml(task_file(ROOM | {"features.center": None})).terms.model.intercept

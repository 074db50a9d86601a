"""Task files: every field has its rule, and every broken rule its own clear sentence."""

import math
import re
from typing import Any, get_args

import msgspec
import numpy as np
import pytest

from crowdml.errors import InvalidTask
from crowdml.models import Hinge, Huber, Ridge, Softmax
from crowdml.protocol import Task, Terms
from crowdml.protocol.task import OptimizerSpec, TaskFile
from tests.protocol.files import FIELDS, REGRESSION, task_file

LONG = '"' + "a" * 2001 + '"'

WRONG: list[tuple[str, str, str]] = [
    ("name", '"Activity!"', 'name: expected `str` matching .*, found "Activity!".*lower-case'),
    ("name", '""', "name: expected `str` matching"),
    ("name", '"' + "a" * 64 + '"', "name: expected `str` matching"),
    ("name", '"a b"', 'name: expected `str` matching .*, found "a b"'),
    ("name", "3", "name: expected `str`, got `int`, found 3"),
    ("title", '""', 'title: expected `str` of length >= 1, found ""'),
    ("title", '"' + "a" * 201 + '"', "title: expected `str` of length <= 200"),
    ("objective", LONG, "objective: expected `str` of length <= 2000"),
    ("objective", "1", "objective: expected `str`, got `int`, found 1"),
    ("sensors", LONG, "sensors: expected `str` of length <= 2000"),
    ("features.count", "0", "features.count: expected `int` >= 1, found 0"),
    ("features.count", "100001", "features.count: expected `int` <= 100000, found 100001"),
    ("features.count", "2.5", "features.count: expected `int`, got `float`, found 2.5"),
    ("features.count", '"many"', 'features.count: expected `int`, got `str`, found "many"'),
    ("features.description", LONG, "features.description: expected `str` of length <= 2000"),
    ("features.sensor", '{kind = "smell"}', "sensor.kind: .*'smell'.* Use light, manual, motion"),
    ("features.sensor", "{rate = 20}", "missing required field `kind`"),
    ("features.sensor", '{kind = "motion", rate = 0}', "sensor.rate: .* >= 0.01, found 0"),
    ("features.sensor", '{kind = "motion", window = 0}', "sensor.window: .* >= 1, found 0"),
    ("features.sensor", '{kind = "motion", transform = "x"}', "transform: invalid enum value 'x'"),
    ("features.sensor", '{kind = "motion", first_bin = 2}', "first_bin: .* <= 1.0, found 2"),
    ("features.sensor", '{kind = "motion", scale = 0}', "sensor.scale: .* >= 1e-09, found 0"),
    ("features.sensor", '{kind = "motion", every = -1}', "sensor.every: .* >= 0.0, found -1"),
    ("features.sensor", '{kind = "motion", trigger = "x"}', "trigger: invalid enum value 'x'"),
    ("features.sensor", '{kind = "motion", colour = 1}', "unknown field `colour`"),
    ("features.sensor", '{kind = "motion", window = 3}', "count must be at most 3, .* found 4"),
    (
        "features.sensor",
        '{kind = "motion", fields = ["a"]}',
        "sensor.fields must name the numbers to enter for manual and only for it, found 1",
    ),
    ("features.sensor", '{kind = "manual", transform = "values"}', "sensor.fields .* found 0"),
    ("features.sensor", '{kind = "manual"}', 'transform must be "values" for manual'),
    ("features.sensor", '{kind = "light", transform = "values"}', 'must be "values" for manual'),
    (
        "features.sensor",
        '{kind = "manual", transform = "values", fields = ["a", "b"]}',
        "count must be 2, .* found 4",
    ),
    ("target.labels", '["one"]', "labels must be none .* or at least two, found one"),
    ("target.labels", '["a", "a"]', "labels must differ from each other"),
    ("target.labels", '["a", ""]', "target.labels.*expected `str` of length >= 1"),
    ("target.labels", '["a", 2]', "target.labels.*expected `str`, got `int`"),
    ("target.labels", '["a", "' + "b" * 81 + '"]', "target.labels.*length <= 80"),
    ("target.labels", str([str(i) for i in range(1001)]), "target.labels.*length <= 1000"),
    ("target.labels", '"a"', "target.labels: expected `array`, got `str`"),
    ("target.description", LONG, "target.description: expected `str` of length <= 2000"),
    ("model.kind", '"forest"', "'forest'.* Use softmax, hinge, ridge or huber"),
    ("model.clip", "0.0", "model.clip: expected `float` >= 1e-09, found 0.0"),
    ("model.clip", "nan", "model.clip: expected `float` >= 1e-09, found nan"),
    ("model.regularization", "-0.1", "model.regularization: expected `float` >= 0.0, found -0.1"),
    ("model.radius", "0", "model.radius: expected `float` >= 1e-09, found 0"),
    ("model.intercept", "1", "model.intercept: expected `bool`, got `int`, found 1"),
    ("model.delta", "-1.0", "model.delta: expected `float` >= 1e-09, found -1.0"),
    ("model.tolerance", "0.0", "model.tolerance: expected `float` >= 1e-09, found 0.0"),
    ("privacy.epsilon", "-1", "epsilon: expected `float` > 0.0, found -1. Use inf for no noise"),
    ("privacy.epsilon", "0", "privacy.epsilon: expected `float` > 0.0, found 0"),
    ("privacy.epsilon", "nan", "privacy.epsilon: expected `float` > 0.0, found nan"),
    ("privacy.epsilon", '"1"', 'privacy.epsilon: expected `float`, got `str`, found "1"'),
    ("privacy.epsilon_e", "0", "privacy.epsilon_e: expected `float` > 0.0, found 0"),
    ("privacy.epsilon_y", "-2.0", "privacy.epsilon_y: expected `float` > 0.0, found -2.0"),
    ("collection.batch", "0", "collection.batch: expected `int` >= 1, found 0"),
    ("collection.batch", "100001", "collection.batch: expected `int` <= 100000, found 100001"),
    ("collection.buffer", "0", "collection.buffer: expected `int` >= 1, found 0"),
    ("collection.buffer", "1000001", "collection.buffer: expected `int` <= 1000000"),
    ("collection.heldout", "0.6", "collection.heldout: expected `float` <= 0.5, found 0.6"),
    ("collection.heldout", "-0.1", "collection.heldout: expected `float` >= 0.0, found -0.1"),
    ("optimizer.kind", '"adam"', "optimizer.kind: invalid enum value 'adam'"),
    ("optimizer.rate", '"fast"', "optimizer.rate: invalid enum value 'fast'"),
    ("optimizer.c", "0", "optimizer.c: expected `float` >= 1e-09, found 0"),
    ("optimizer.averaging", "-1", "optimizer.averaging: expected `float` >= 0.0, found -1"),
    ("stop.updates", "0", "stop.updates: expected `int` >= 1, found 0"),
    ("stop.error", "0.0", "stop.error: expected `float` > 0.0, found 0.0"),
    ("stop.error", "1.0", "stop.error: expected `float` < 1.0, found 1.0"),
    ("stop.window", "9", "stop.window: expected `int` >= 10, found 9"),
    ("stop.window", "100001", "stop.window: expected `int` <= 100000, found 100001"),
    ("stop.samples", "0", "stop.samples: expected `int` >= 1, found 0"),
    ("stop.confidence", "0.5", "stop.confidence: expected `float` > 0.5, found 0.5"),
    ("stop.confidence", "1.0", "stop.confidence: expected `float` < 1.0, found 1.0"),
    ("enrolment.mode", '"closed"', "enrolment.mode: invalid enum value 'closed'"),
    ("enrolment.checkins_per_minute", "0", "checkins_per_minute: expected `float` > 0.0, found 0"),
    ("enrolment.max_staleness", "-1", "max_staleness: expected `int` >= 0, found -1"),
]


def _fields(struct: Any, prefix: str = "") -> set[str]:
    """All names of a task file, such as `model.kind`."""
    names: set[str] = set()
    for field in msgspec.structs.fields(struct):
        inner = field.type
        if isinstance(inner, type) and issubclass(inner, msgspec.Struct):
            names |= _fields(inner, f"{field.name}.")
        else:
            names.add(prefix + field.name)
    return names


def test_table_is_complete() -> None:
    assert {name for name, _, _ in WRONG} == _fields(TaskFile)


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


@pytest.mark.parametrize(("name", "value", "message"), WRONG)
def test_wrong_field(name: str, value: str, message: str) -> None:
    with pytest.raises(InvalidTask, match=message) as error:
        Task.from_toml(task_file({name: value}))
    assert len(str(error.value)) < 300
    assert str(error.value).endswith(".")


def test_name_has_no_line_feed() -> None:
    with pytest.raises(InvalidTask, match="name: expected"):
        Task.from_toml(task_file({"name": '"activity\\n"'}))


@pytest.mark.parametrize("name", [name for name in FIELDS if name != "target.labels"])
def test_missing_field(name: str) -> None:
    with pytest.raises(InvalidTask, match=r"missing required field `.*`\. Add it\.") as error:
        Task.from_toml(task_file({name: None}))
    assert name.split(".")[0] in str(error.value)


@pytest.mark.parametrize(
    "name",
    [
        "colour", "features.colour", "target.colour", "model.colour", "privacy.colour",
        "collection.colour", "optimizer.colour", "stop.colour", "enrolment.colour",
        "privacy.epsilon_g",
    ],
)  # fmt: skip
def test_unknown_field(name: str) -> None:
    wanted = f"unknown field `{name.split('.')[-1]}`. Check its spelling"
    with pytest.raises(InvalidTask, match=wanted):
        Task.from_toml(task_file({name: "1"}))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"privacy.epsilon_e": "0.5", "privacy.epsilon_y": "0.5"},
            "must leave something for the gradient, found 1 with 0.5 for errors and 0.5 for labels",
        ),
        ({"privacy.epsilon_y": "1.0"}, "found 1 with 0.05 for errors and 1 for labels"),
        ({"privacy.epsilon_e": "2.0"}, "found 1 with 2 for errors and 0.05 for labels"),
        (
            {**REGRESSION, "privacy.epsilon_y": "0.1"},
            "privacy.epsilon_y is for label counts, found 0.1 without target.labels. Remove it",
        ),
        (
            {**REGRESSION, "privacy.epsilon": "inf", "privacy.epsilon_y": "0.1"},
            "privacy.epsilon_y is for label counts, found 0.1 without target.labels. Remove it",
        ),
        (
            {"privacy.epsilon": "inf", "privacy.epsilon_e": "0.1"},
            "epsilon = inf means no noise at all, found epsilon_e or epsilon_y beside it. Remove",
        ),
        (
            {"privacy.epsilon": "inf", "privacy.epsilon_y": "0.1"},
            "epsilon = inf means no noise at all, found epsilon_e or epsilon_y beside it. Remove",
        ),
        (
            {**REGRESSION, "privacy.epsilon": "inf", "privacy.epsilon_e": "0.1"},
            "epsilon = inf means no noise at all, found epsilon_e or epsilon_y beside it. Remove",
        ),
        (
            {"privacy.epsilon": "1e308"},
            r"privacy.epsilon must be at most 1e\+06, found 1e\+308. Use inf",
        ),
        (
            {"privacy.epsilon": "1e-6"},
            r"epsilon for the gradient must lie in 1e-06 … 1e\+06, found 9e-07",
        ),
        (
            {"privacy.epsilon": "1e-5"},
            r"epsilon for the errors must lie in 1e-06 … 1e\+06, found 5e-07",
        ),
        (
            {"privacy.epsilon_y": "1e-7"},
            r"epsilon for the labels must lie in 1e-06 … 1e\+06, found 1e-07",
        ),
        (
            {"collection.heldout": "0.2", "privacy.epsilon_e": "0.96"},
            "found 1 with 0.96 for errors and 0.05 for labels",
        ),
        (
            {**REGRESSION, "model.kind": '"ridge"'},
            "model.clip must be a positive number for ridge.*found none. Set it",
        ),
        ({"model.kind": '"ridge"'}, "ridge predicts a number and takes no target.labels, found 3"),
        ({"model.kind": '"huber"'}, "huber predicts a number and takes no target.labels, found 3"),
        ({"target.labels": "[]"}, "softmax needs target.labels, found none. List them"),
        ({"target.labels": None, "target.description": '"y"'}, "softmax needs target.labels"),
        ({"model.kind": '"hinge"', "target.labels": "[]"}, "hinge needs target.labels"),
        ({"collection.buffer": "9"}, "hold a whole batch of 10 samples, found 9"),
        (
            {"features.count": "100000", "target.labels": str([str(i) for i in range(11)])},
            "at most 1,000,000 parameters, found 1,100,000",
        ),
    ],
)
def test_fields_that_do_not_go_together(changes: dict[str, str | None], message: str) -> None:
    with pytest.raises(InvalidTask, match=message):
        Task.from_toml(task_file(changes))


def test_not_toml() -> None:
    with pytest.raises(InvalidTask, match=r"must be valid TOML: .*line 1"):
        Task.from_toml("name = = 3")


BILLION = ["model.clip", "model.radius", "model.delta", "model.tolerance", "optimizer.c"]
LARGEST = {
    **dict.fromkeys(BILLION, 1e9),
    **dict.fromkeys(["privacy.epsilon_e", "privacy.epsilon_y"], 1e6),
    "model.regularization": 1e6,
    "optimizer.averaging": 1e3,
}
"""The largest value of each number that could otherwise grow without end."""


@pytest.mark.parametrize("value", ["inf", "1e308", "1.001e9", "1_000_000_001"])
@pytest.mark.parametrize("name", LARGEST)
def test_too_large_numbers_are_refused(name: str, value: str) -> None:
    """JSON has no infinity, so no device could read such terms; and sums must not overflow."""
    rule = f"{name}: expected `float` <= {LARGEST[name]}, found "
    with pytest.raises(InvalidTask, match=re.escape(rule)):
        Task.from_toml(task_file({name: value}))


@pytest.mark.parametrize("name", ["model.regularization", "optimizer.averaging"])
def test_just_too_large(name: str) -> None:
    with pytest.raises(InvalidTask, match=re.escape(name)):
        Task.from_toml(task_file({name: str(LARGEST[name] * 1.001)}))


@pytest.mark.parametrize("name", [*BILLION, "model.regularization", "optimizer.averaging"])
@pytest.mark.parametrize("changes", [{}, REGRESSION])
def test_largest_numbers_are_taken(name: str, changes: dict[str, str | None]) -> None:
    """And a device can read the terms."""
    task = Task.from_toml(task_file({**changes, name: str(LARGEST[name])}))
    assert Terms.parse(task.terms.text) == task.terms
    task.make_optimizer()


@pytest.mark.parametrize("clip", ["inf", "1e308", "2e9"])
def test_ridge_needs_a_finite_clip(clip: str) -> None:
    changes: dict[str, str | None] = {
        **REGRESSION,
        "model.kind": '"ridge"',
        "model.clip": clip,
    }
    with pytest.raises(InvalidTask, match=r"model\.clip: expected `float` <= 1000000000\.0, found"):
        Task.from_toml(task_file(changes))


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
    epsilon = terms.sanitizer().epsilon
    assert (epsilon.gradient, epsilon.errors, epsilon.labels) == pytest.approx(levels)
    total = float(terms.privacy.epsilon)
    assert terms.epsilon_per_sample == pytest.approx(total)
    assert terms.private == math.isfinite(total)


@pytest.mark.parametrize("heldout", ["0.0", "0.05", "0.1", "0.3", "0.5"])
@pytest.mark.parametrize("batch", ["1", "2", "7", "10"])
def test_no_minibatch_costs_more_than_stated(heldout: str, batch: str) -> None:
    """Also not a larger one after an outage, with another number of held-out samples."""
    changes: dict[str, str | None] = {
        "collection.heldout": heldout,
        "collection.batch": batch,
        "collection.buffer": "60",
    }
    terms = Task.from_toml(task_file(changes)).terms
    for n in range(terms.collection.batch, 61):
        n_heldout = terms.collection.n_heldout(n)
        assert 0 <= n_heldout < n
        cost = terms.event(n).per_sample
        assert cost <= 1.0 + 1e-9


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
    assert terms.sanitizer().clip == clip


@pytest.mark.parametrize("kind", get_args(OptimizerSpec.__annotations__["kind"]))
@pytest.mark.parametrize("rate", get_args(OptimizerSpec.__annotations__["rate"]))
@pytest.mark.parametrize("averaging", [None, "8"])
def test_every_optimizer_can_be_made(kind: str, rate: str, averaging: str | None) -> None:
    changes: dict[str, str | None] = {
        "optimizer.kind": f'"{kind}"',
        "optimizer.rate": f'"{rate}"',
        "optimizer.averaging": averaging,
        "model.radius": "0.5",
    }
    optimizer = Task.from_toml(task_file(changes)).make_optimizer()
    w = np.zeros(12)
    state = optimizer.init(w)
    for _ in range(20):
        state, w = optimizer.update(state, w, np.full(12, -1.0), 0)
    assert 0.1 < np.linalg.norm(w) <= 0.5 * (1 + 1e-12)
    assert ("average" in state) == (averaging is not None)


def test_round_trip_as_the_server_keeps_it() -> None:
    task = Task.from_toml(task_file({"stop.error": "0.2", "optimizer.averaging": "3"}))
    assert msgspec.json.decode(msgspec.json.encode(task), type=Task) == task
    assert Terms.parse(task.terms.text) == task.terms

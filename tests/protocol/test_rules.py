"""Test fields that are valid by themselves but do not go together."""

import pytest

from crowdml.errors import InvalidTask
from crowdml.protocol import Task
from tests.protocol.files import REGRESSION, task_file
from tests.protocol.test_review import mistakes_in

SENSOR = "features.sensor"
GRADIENT = "must leave a part of privacy.epsilon for the gradient, found"
ELEVEN = str([str(i) for i in range(11)])
LEFT_OUT = "must be left out where privacy.epsilon is inf, which means no noise at all, found 0.1"

WHOLE = {"privacy.mechanism": '"direction"', "privacy.epsilon": "4.0", "model.clip": None}
TEN = "must be at most 0.9 together with collection.counters, found"

CASES: list[tuple[dict[str, str | None], str]] = [
    (
        {**WHOLE, "collection.evaluators": "0.5", "collection.counters": "0.41"},
        f"collection.evaluators {TEN} 0.91. Lower one of them.",
    ),
    (
        {**WHOLE, **REGRESSION, "collection.counters": "0.05"},
        "collection.counters must be 0 where a number is predicted: there are no answers "
        "to count, found 0.05. Remove it.",
    ),
    (
        {"privacy.epsilon_e": "0.5", "privacy.epsilon_y": "0.5"},
        f"privacy.epsilon_e {GRADIENT} 0.5 for errors and 0.5 for labels of a total of 1. "
        "Lower it.",
    ),
    ({"privacy.epsilon_y": "1.0"}, f"privacy.epsilon_y {GRADIENT} 0.05 for errors and 1 for"),
    ({"privacy.epsilon_e": "2.0"}, f"privacy.epsilon_e {GRADIENT} 2 for errors and 0.05 for"),
    (
        {"collection.heldout": "0.2", "privacy.epsilon_e": "0.96"},
        f"privacy.epsilon_e {GRADIENT} 0.96 for errors and 0.05 for labels",
    ),
    (
        {**REGRESSION, "privacy.epsilon_y": "0.1"},
        "privacy.epsilon_y is for label counts, and target.labels has none, found 0.1. Remove it.",
    ),
    (
        {**REGRESSION, "privacy.epsilon": "inf", "privacy.epsilon_y": "0.1"},
        "privacy.epsilon_y is for label counts, and target.labels has none, found 0.1.",
    ),
    (
        {"privacy.epsilon": "inf", "privacy.epsilon_e": "0.1"},
        f"privacy.epsilon_e {LEFT_OUT}. Remove it.",
    ),
    ({"privacy.epsilon": "inf", "privacy.epsilon_y": "0.1"}, f"privacy.epsilon_y {LEFT_OUT}"),
    (
        {**REGRESSION, "privacy.epsilon": "inf", "privacy.epsilon_e": "0.1"},
        f"privacy.epsilon_e {LEFT_OUT}",
    ),
    (
        {"privacy.epsilon": "1e-5"},
        "privacy.epsilon must be enough for all its parts, 0.000001 or more for each, "
        "found 0.00001, "
        "which leaves 5e-7 for errors. Raise it, or use inf for no noise.",
    ),
    (
        {"privacy.epsilon": "3e-6", "privacy.epsilon_e": "1e-6", "privacy.epsilon_y": "1.5e-6"},
        "privacy.epsilon must be enough for all its parts, 0.000001 or more for each, "
        "found 0.000003, "
        "which leaves 5e-7 for the gradient.",
    ),
    (
        {"privacy.mechanism": '"gaussian"', "privacy.epsilon": "1e-4"},
        "privacy.epsilon must be enough for all its parts, 0.0000832 or more for each, "
        "found 0.0001",
    ),
    (
        {**REGRESSION, "model.kind": '"ridge"'},
        "model.clip must be given for ridge, whose gradients have no bound of their own. Set it,",
    ),
    (
        {"model.kind": '"ridge"'},
        "model.kind must suit target.labels, but ridge predicts a number and takes no labels, "
        "found 3 labels. Remove them, or use softmax or hinge.",
    ),
    ({"model.kind": '"huber"'}, "model.kind must suit target.labels, but huber predicts a number"),
    (
        {"target.labels": "[]"},
        "target.labels must name two or more labels for softmax, which tells them apart, found 0.",
    ),
    ({"target.labels": None}, "target.labels must name two or more labels for softmax"),
    ({"model.kind": '"hinge"', "target.labels": "[]"}, "target.labels must name two or more"),
    (
        {"target.labels": '["one"]'},
        "target.labels must have two or more entries, or none to predict a number, ",
    ),
    (
        {"target.labels": '["a", "b", "a"]'},
        'target.labels must differ from each other, found "a" twice.',
    ),
    (
        {"collection.buffer": "9"},
        "collection.buffer must hold a whole batch of 10 samples, found 9. Raise it, or lower",
    ),
    (
        {"features.count": "100000", "target.labels": ELEVEN},
        "features.count must make a model of at most 1,000,000 parameters, found 1,100,000. Use",
    ),
    (
        {"features.names": '["a", "b", "c"]'},
        "features.names must have one entry for each of the 4 features, found 3 entries.",
    ),
    ({"features.center": "[1.0]"}, "features.center must have one entry for each of the 4"),
    ({"features.scale": "[1, 1, 1, 1, 1]"}, "features.scale must have one entry for each of the 4"),
    (
        {"features.names": '["a", "b", "a", "c"]'},
        'features.names must differ from each other, found "a" twice.',
    ),
    (
        {"features.names": '["a", "b ", "c", "d"]'},
        'features.names must not begin or end with a space, found "b ".',
    ),
    (
        {"features.names": '["a", "b", "c", "d"]', SENSOR: '{kind = "motion"}'},
        "features.names must be left out where a sensor makes the features, found 4 entries.",
    ),
    (
        {"features.missing": '"center"'},
        'features.missing must be reject where columns have no center, found "center". Give',
    ),
    (
        {SENSOR: '{kind = "motion", window = 3}'},
        "features.count must be at most 3, the readings in the sensor's window, found 4.",
    ),
    (
        {SENSOR: '{kind = "light", transform = "summary"}', "features.count": "3"},
        "features.count must be 4, the numbers that the sensor's transform summary makes, found 3.",
    ),
    (
        {SENSOR: '{kind = "manual", transform = "values", fields = ["a", "b"]}'},
        "features.count must be 2, the numbers that the sensor's transform values makes, found 4.",
    ),
    (
        {SENSOR: '{kind = "motion", fields = ["a"]}'},
        f"{SENSOR}.fields must name the numbers where they are typed in, and only there, found 1",
    ),
    ({SENSOR: '{kind = "manual", transform = "values"}'}, f"{SENSOR}.fields must name the numbers"),
    (
        {SENSOR: '{kind = "light", transform = "values"}'},
        f"{SENSOR}.transform must be values where numbers are typed in, and only there, "
        'found "values" for light.',
    ),
    ({SENSOR: "{}"}, f"{SENSOR}.kind is missing. Add it under [{SENSOR}]."),
]

# What one field may not say by itself, or beside others: fields, rule, values and what is beside.

CONTROLS = "must not have control characters or marks of direction, found"
MARKED = [r'"a\u001b[8m"', r'"a\u202eb"', r'"a\u200bb"', r'"a\u2066b"', r'"\u200b"', r'"a\u0007b"']
SPACE = "must not begin or end with a space, found"
ALIKE = "must differ in more than case, spaces or the form of characters, found"
DIRECTED = "is for the mechanism direction, not for laplace, found"
NOISY = "is for the mechanism gaussian or laplace, not for direction, found"
DIRECTION = {"privacy.mechanism": '"direction"', "collection.buffer": None}
TWO = {"features.count": "2"}
TYPED = {f"{SENSOR}.kind": '"manual"', f"{SENSOR}.transform": '"values"'}
Table = dict[str, str | None]

OF_FIELDS: list[tuple[str, str, list[str], Table]] = [
    ("title owner contact objective purpose sensors", "must not be blank, found",
     ['" "', r'"\t"'], {}),
    ("objective sensors", "must not be blank, found", ['""'], {}),
    ("title owner contact", "must be one line, found", [r'"a\nb"', r'"a\u2028b"'], {}),
    ("title owner contact purpose objective sensors features.description target.description",
     CONTROLS, MARKED, {}),
    ("owner", CONTROLS, [r'"a\tb"'], {}),
    ("features.names", CONTROLS, [r'["a\nb", "c"]', r'["a", "b\u202e"]'], {**TWO}),
    ("features.names", SPACE, ['[" a", "b"]'], {**TWO}),
    ("features.names", "must differ in more than spaces", ['["a b", "ab"]'], {**TWO}),
    (f"{SENSOR}.fields", 'must differ from each other, found "a" twice', ['["a", "a"]'],
     {**TWO, **TYPED}),
    ("target.labels", ALIKE,
     ['["Walk", "walk"]', '["a b", "ab"]', '["a  b", "a b"]', r'["\u00e9", "e\u0301"]',
      '["ﬁt", "fit"]'], {}),
    ("target.labels", "must not have a comma or a line break, which files of samples use, found",
     ['["a,b", "c"]', r'["a\nb", "c"]', r'["a\rb", "c"]', r'["a\u2028b", "c"]'], {}),
    ("target.labels", CONTROLS, [r'["a\u200f", "c"]', r'["a\u0007", "c"]'], {}),
    ("target.labels", SPACE, ['[" a", "c"]', '["a ", "c"]'], {}),
    ("target.unit", "must not be blank, found", ['" "'], {**REGRESSION}),
    ("target.unit", "must be one line, found", [r'"k\ng"'], {**REGRESSION}),
    ("target.unit", CONTROLS, [r'"k\u202eg"'], {**REGRESSION}),
    ("target.unit", "is for a number to predict, and target.labels has labels", ['"kg"'], {}),
    ("target.scale", "is for a number to predict, and target.labels has labels", ["2", "0.5"], {}),
    ("model.pilot", "is about the pilot of a start, and there is none.", ['"x"'], {}),
    ("privacy.epsilon", "must be finite for the mechanism direction", ["inf"], {**DIRECTION}),
    ("privacy.epsilon", "must be at most 40 for a check-in", ["41"], {**DIRECTION}),
    ("privacy.epsilon_e collection.heldout", NOISY, ["0.1"], {**DIRECTION}),
    ("privacy.directions collection.checkins", DIRECTED, ["64"], {}),
    ("collection.evaluators", DIRECTED, ["0.1"], {}),
    ("optimizer.reach", "is for the planned rate, and another one is chosen", ["5"], {}),
]  # fmt: skip
CASES += [
    (beside | {field: value}, f"{field} {rule}")
    for fields, rule, values, beside in OF_FIELDS
    for field in fields.split()
    for value in values
]


@pytest.mark.parametrize(("changes", "sentence"), CASES)
def test_fields_that_do_not_go_together(changes: dict[str, str | None], sentence: str) -> None:
    (mistake,) = mistakes_in(task_file(changes))
    assert str(mistake).startswith(sentence)
    assert len(str(mistake)) < 400


def test_they_are_named_together_with_all_other_mistakes() -> None:
    changes: dict[str, str | None] = {
        "title": "1", "collection.buffer": "9", "collection.heldout": "0.6",
        "target.labels": '["a", "a"]', "model.kind": '"ridge"', "privacy.epsilon": "1e7",
        "privacy.epsilon_e": '"some"', SENSOR: '{kind = "manual", every = -1}',
    }  # fmt: skip
    assert sorted(mistake.field for mistake in mistakes_in(task_file(changes))) == [
        "collection.buffer", "collection.heldout", "features.sensor.every",
        "features.sensor.fields", "features.sensor.transform", "model.kind", "privacy.epsilon",
        "privacy.epsilon_e", "target.labels", "title",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"collection.batch": "0", "collection.buffer": "9"}, {"collection.batch"}),
        ({"target.labels": "3", "model.kind": '"ridge"'}, {"target.labels"}),
        ({"model.kind": "3", "target.labels": "[]"}, {"model.kind"}),
        ({"privacy.epsilon": "-1", "privacy.epsilon_e": "2.0"}, {"privacy.epsilon"}),
        ({SENSOR: '{kind = "smell", transform = "values"}'}, {f"{SENSOR}.kind"}),
    ],
)
def test_a_rule_waits_for_the_fields_that_it_needs(
    changes: dict[str, str | None], named: set[str]
) -> None:
    assert {mistake.field for mistake in mistakes_in(task_file(changes))} == named


@pytest.mark.parametrize("clip", ["inf", "1e308", "2e9"])
def test_ridge_needs_a_finite_clip(clip: str) -> None:
    changes: dict[str, str | None] = {**REGRESSION, "model.kind": '"ridge"', "model.clip": clip}
    with pytest.raises(InvalidTask, match=r"^model\.clip must be a number from .* found"):
        Task.from_toml(task_file(changes))

"""Wrong task files: each field, each kind of mistake, and the rule that the message states."""

from typing import NamedTuple

import pytest

from crowdml.errors import InvalidTask
from crowdml.protocol import Task, TaskFile, fields_of
from tests.protocol.files import task_file
from tests.wrong_inputs.expect_error import expect


class Kind(NamedTuple):
    """Wrong TOML values of one field, the rule that they break, and the fields that it needs."""

    field: str
    rule: str
    values: tuple[str | None, ...]
    beside: dict[str, str | None] = {}  # noqa: RUF012  (a tuple's default is never changed)


LONG = f'"{"a" * 3000}"'
NAMED: dict[str, str | None] = {"features.count": "2", "features.names": '["a", "b"]'}
LIGHT: dict[str, str | None] = {
    "features.sensor.kind": '"light"',
    "features.sensor.transform": '"summary"',
}
TYPED: dict[str, str | None] = {
    "features.sensor.kind": '"manual"',
    "features.sensor.transform": '"values"',
}
DIRECTION: dict[str, str | None] = {
    "privacy.mechanism": '"direction"',
    "collection.buffer": None,
}
GAUSSIAN: dict[str, str | None] = {"privacy.mechanism": '"gaussian"'}
PLANNED: dict[str, str | None] = {"optimizer.rate": None}
NUMBER: dict[str, str | None] = {"target.labels": "[]", "model.kind": '"huber"'}
MISSING = "is missing. Add it"
WIDE = "must be a number from 1e-9 to 1,000,000,000, found"
CONTROLS = "must not have control characters or marks of direction"

KINDS = [
    # The words for people.
    *(Kind(field, MISSING, (None,)) for field in
      ("name", "title", "objective", "owner", "contact", "purpose", "sensors")),
    Kind("name", "must be 1 to 63 lower-case letters, digits and hyphens",
         ("1", "true", "[]", '""', '"Activity"', '"a b"', '"a_b"', '"-a"', '"a/b"', '"../a"', '"é"',
          '"con"', '"nul"', '"a."', LONG)),
    *(Kind(field, "must be a text of 1 to 200 characters", ("1", "true", "[]", '""', LONG))
      for field in ("title", "owner", "contact")),
    *(Kind(field, "must be a text of .* characters", ("1", "true", "[]", LONG))
      for field in ("objective", "purpose", "sensors")),
    *(Kind(field, "must not be blank", ('" "', r'"\t"')) for field in
      ("title", "owner", "contact", "objective", "purpose", "sensors")),
    Kind("objective", "must not be blank", ('""',)),
    Kind("sensors", "must not be blank", ('""',)),
    *(Kind(field, "must be one line", (r'"a\nb"', r'"a\u2028b"'))
      for field in ("title", "owner", "contact")),
    *(Kind(field, CONTROLS, (r'"a\u001b[8m"', r'"a\u202eb"', r'"a\u200bb"', r'"a\u2066b"'))
      for field in ("title", "contact", "purpose", "objective", "features.description",
                    "target.description")),
    Kind("owner", CONTROLS, (r'"\u200b"', r'"a\tb"')),
    # The features.
    Kind("features.count", "must be a whole number from 1 to 100,000",
         ("0", "-1", "1.5", "100001", '"4"', "true", "inf", "[]")),
    Kind("features.count", MISSING, (None,)),
    Kind("features.description", "must be a text of at most 2,000 characters", ("1", LONG)),
    Kind("features.names", "must have one entry for each of the 2 features, found 1 entry",
         ('["a"]',), NAMED),
    Kind("features.names", "must have one entry for each .* found 3 entries", ('["a","b","c"]',),
         NAMED),
    Kind("features.names", "must be a list of .* each a text of 1 to 80 characters",
         ('"a"', '["", "b"]', "[1, 2]", f'[{LONG}, "b"]', '[[1], "b"]'), NAMED),
    Kind("features.names", CONTROLS, (r'["a\nb", "c"]', r'["a", "b\u202e"]'), NAMED),
    Kind("features.names", "must not begin or end with a space", ('[" a", "b"]',), NAMED),
    Kind("features.names", 'must differ from each other, found "a" twice', ('["a", "a"]',), NAMED),
    Kind("features.names", "must differ in more than spaces", ('["a b", "ab"]',), NAMED),
    Kind("features.names", "must be left out where a sensor makes the features",
         ('["a", "b", "c", "d"]',), LIGHT),
    Kind("features.center", "must have one entry for each of the 2 features", ("[1]", "[1, 2, 3]"),
         NAMED),
    Kind("features.center", "must be a list of .* each a number from -1,000,000,000,000,000",
         ("1", '["a", "b"]', "[nan, 1]", "[inf, 1]", "[true, false]", "[1e300, 1]", "{a = 1}"),
         NAMED),
    Kind("features.scale", "must be a list of .* each a number from 1e-9 to 1,000,000,000",
         ("[0, 1]", "[-1, 1]", '"a"', "[inf, 1]", "[nan, 1]", "[1e-320, 1]"), NAMED),
    Kind("features.scale", "must have one entry for each of the 2 features", ("[1]",), NAMED),
    Kind("features.length", WIDE, ("0", "-1", "inf", "nan", '"1"', "true"), NAMED),
    Kind("features.missing", "must be reject or center", ('"drop"', '""', "true"), NAMED),
    Kind("features.missing", "must be reject where columns have no center", ('"center"',), NAMED),
    Kind("features.bogus", "is not known here. Remove it", ("1",)),
    # The sensor.
    Kind("features.sensor", "must be a table with the fields kind, rate", ('"motion"', "1")),
    Kind("features.sensor", "kind is missing", ("{}",)),
    Kind("features.sensor.kind", "must be motion, sound, light, speed or manual",
         ('"smell"', "1", '"Light"', "[]")),
    Kind("features.sensor.rate", "must be a number from 0.01 to 1,000",
         ("0", "-1", "inf", "1e9", '"20"', "true"), LIGHT),
    Kind("features.sensor.window", "must be a whole number from 1 to 4,096",
         ("0", "1.5", "-4", '"a"', "100000000"), LIGHT),
    Kind("features.sensor.transform", "must be amplitudes, spectrum, summary or values",
         ('"wavelet"', "1"), {"features.sensor.kind": '"light"'}),
    Kind("features.sensor.first_bin", "must be a number from 0 to 1", ("-1", "nan", '"a"'), LIGHT),
    Kind("features.sensor.scale", WIDE, ("0", "-1", "inf"), LIGHT),
    Kind("features.sensor.every", "must be a number from 0 to 1,000,000",
         ("-1", "nan", "inf", '"a"'), LIGHT),
    Kind("features.sensor.trigger", "must be always or label-change", ('"never"', "1"), LIGHT),
    Kind("features.sensor.fields", "must name the numbers where they are typed in", ('["a"]',),
         LIGHT),
    Kind("features.sensor.fields", "must name the numbers where they are typed in", ("[]",), TYPED),
    Kind("features.sensor.fields", "must be a list of at most 200 entries", ("[1, 2]", '"a"'),
         TYPED),
    Kind("features.sensor.fields", 'must differ .* "a" twice', ('["a", "a"]',),
         TYPED | {"features.count": "2"}),
    # The target.
    Kind("target.labels", "must differ in more than case, spaces",
         ('["Walk", "walk"]', '["a b", "ab"]', '["a  b", "a b"]', r'["\u00e9", "e\u0301"]',
          '["ﬁt", "fit"]')),
    Kind("target.labels", 'must differ from each other, found "a" twice', ('["a", "a"]',)),
    Kind("target.labels", "must not have a comma or a line break",
         ('["a,b", "c"]', r'["a\nb", "c"]', r'["a\rb", "c"]', r'["a\u2028b", "c"]')),
    Kind("target.labels", CONTROLS, (r'["a\u200f", "c"]', r'["a\u0007", "c"]')),
    Kind("target.labels", "must not begin or end with a space", ('[" a", "c"]', '["a ", "c"]')),
    Kind("target.labels", "must be a list of at most 1,000 entries, each a text of 1 to 80",
         ('["", "c"]', "[1, 2]", '"a"', '[["a"], "b"]', "[true, false]", f'[{LONG}, "b"]',
          str([f"l{i}" for i in range(2000)]))),
    Kind("target.labels", "must have two or more entries, or none to predict a number", ('["a"]',)),
    Kind("target.description", "must be a text of at most 2,000 characters", ("1", LONG)),
    Kind("target.unit", "must be a text of at most 40 characters", ("1", LONG), NUMBER),
    Kind("target.unit", "must not be blank", ('" "',), NUMBER),
    Kind("target.unit", "must be one line", (r'"k\ng"',), NUMBER),
    Kind("target.unit", CONTROLS, (r'"k\u202eg"',), NUMBER),
    Kind("target.unit", "is for a number to predict", ('"kg"',)),
    Kind("target.scale", "is for a number to predict, and target.labels has labels", ("2", "0.5")),
    Kind("target.scale", WIDE, ("0", "-1", "nan", "inf", '"1"'), NUMBER),
    # The model.
    Kind("model.kind", MISSING, (None,)),
    Kind("model.kind", "must be softmax, hinge, ridge or huber", ('"svm"', "1", '""', '"Softmax"')),
    Kind("model.kind", "predicts a number and takes no labels", ('"ridge"', '"huber"')),
    Kind("model.kind", "must name two or more labels", ('"softmax"', '"hinge"'),
         {"target.labels": "[]"}),
    Kind("model.clip", WIDE, ("0", "-1", "inf", "nan", '"1"'), GAUSSIAN),
    Kind("model.regularization", "must be a number from 0 to 1,000,000", ("-1", "nan", "inf",
                                                                          '"0"')),
    Kind("model.radius", WIDE, ("0", "-1", "nan", "inf")),
    Kind("model.intercept", "must be true or false", ('"no"', "0")),
    Kind("model.delta", WIDE, ("0", "-1", "nan"), NUMBER),
    Kind("model.tolerance", WIDE, ("0", "-1", "nan"), NUMBER),
    Kind("model.start", "must be a text of 1 to 200 characters", ("1", '""')),
    Kind("model.pilot", "must be a text of at most 2,000 characters", ("1",)),
    Kind("model.pilot", "is about the pilot of a start, and there is none", ('"x"',)),
    Kind("model.epsilon", "is not known here", ("1",)),
    # Privacy.
    Kind("privacy.mechanism", "must be direction, gaussian or laplace",
         ('"none"', "1", '"Laplace"', '""')),
    Kind("privacy.epsilon", "must be a number from 0.000001 to 1,000,000, or inf for no noise",
         ('"1"', "0", "-1", "nan", "true", "[1]", "1e-320", "1e-9")),
    Kind("privacy.epsilon", "must be finite for the mechanism direction", ("inf",), DIRECTION),
    Kind("privacy.epsilon", "must be at most 40 for a check-in", ("41",), DIRECTION),
    Kind("privacy.epsilon_e", "must be a number from 0.000001", ("-1", "nan", '"a"')),
    Kind("privacy.epsilon_e", "must leave a part of privacy.epsilon for the gradient", ("2",)),
    Kind("privacy.epsilon_e", "is for the mechanism gaussian or laplace", ("0.1",), DIRECTION),
    Kind("privacy.epsilon_y", "must be a number from 0.000001", ("-1",)),
    Kind("privacy.epsilon_y", "must leave a part of privacy.epsilon for the gradient", ("1",)),
    Kind("privacy.delta", "must be a number from 1e-15 to 0.01", ("0.1", "0", "1", "nan", "-1"),
         GAUSSIAN),
    Kind("privacy.directions", "must be a whole number from 2 to 4,096", ("1", "4097", "1.5", "-1"),
         DIRECTION),
    Kind("privacy.directions", "is for the mechanism direction, not for laplace", ("64",)),
    # Collection, learning and the end.
    Kind("collection.batch", MISSING, (None,)),
    Kind("collection.batch", "must be a whole number from 1 to 100,000",
         ("0", "-1", "1.5", '"10"', "1e3", "true", "10000000000")),
    Kind("collection.buffer", "must hold a whole batch of 10 samples", ("5",)),
    Kind("collection.buffer", "must be a whole number from 1 to 1,000,000", ("0", "-1", "1.5",
                                                                             '"a"')),
    Kind("collection.heldout", "must be a number from 0 to 0.5", ("-0.1", "0.6", "1", "nan")),
    Kind("collection.heldout", "is for the mechanism gaussian or laplace", ("0.1",), DIRECTION),
    Kind("collection.checkins", "must be a whole number from 1 to 1,000,000",
         ("0", "-1", "1.5", "10000000"), DIRECTION),
    Kind("collection.checkins", "is for the mechanism direction, not for laplace", ("2",)),
    Kind("collection.evaluators", "must be a number from 0 to 0.9", ("-0.1", "1", "nan"),
         DIRECTION),
    Kind("collection.evaluators", "is for the mechanism direction, not for laplace", ("0.1",)),
    Kind("collection.counters", "must be a number from 0 to 0.9", ("-1", "1"), DIRECTION),
    Kind("collection.counters", "must be 0 where a number is predicted", ("0.1",),
         DIRECTION | NUMBER),
    Kind("optimizer.kind", "must be sgd, adagrad, dual-averaging or average-gradient",
         ('"adam"', "1")),
    Kind("optimizer.rate", "must be planned, sqrt, constant or inverse", ('"fast"', "1")),
    Kind("optimizer.c", WIDE, ("0", "-1", "nan", "inf", '"1"')),
    Kind("optimizer.averaging", "must be a number from 0 to 1,000", ("-1", "nan", '"a"')),
    Kind("optimizer.reach", WIDE, ("0", "-1", "inf"), PLANNED),
    Kind("optimizer.reach", "is for the planned rate", ("5",)),
    Kind("stop.updates", "must be a whole number from 1 to 1,000,000,000,000",
         ("0", "-1", "1.5", '"a"', "1e30")),
    Kind("stop.updates", "must say how many check-ins you expect", (None,), PLANNED | DIRECTION),
    Kind("stop.error", "must be a number above 0 and below 1", ("-0.1", "1.5", "nan", '"a"')),
    Kind("stop.window", "must be a whole number from 10 to 100,000", ("0", "-1", "1.5")),
    Kind("stop.samples", "must be a whole number of at least 1", ("0", "-1")),
    Kind("stop.confidence", "must be a number above 0.5 and below 1", ("0", "1", "2", "nan")),
    Kind("stop.devices", "must be a whole number from 1 to 100,000", ("0", "-1", "1.5")),
    Kind("enrolment.mode", "must be open or invite", ('"closed"', "1")),
    Kind("enrolment.checkins_per_minute", "must be a number above 0", ("0", "-1", "nan", "inf")),
    Kind("enrolment.max_staleness", "must be a whole number of at least 0", ("-1", "1.5", '"a"')),
    # Names that do not exist.
    Kind("bogus", "is not known here. Remove it", ("1",)),
    Kind("featuers.count", "Did you mean features", ("1",)),
]  # fmt: skip
FIELDS = [(kind, value) for kind in KINDS for value in kind.values]


@pytest.mark.parametrize(
    ("kind", "value"), FIELDS, ids=[f"{kind.field} = {value}"[:60] for kind, value in FIELDS]
)
def test_fields(kind: Kind, value: str | None) -> None:
    text = task_file({**kind.beside, kind.field: value})
    message = expect(lambda: Task.from_toml(text), kind.rule, InvalidTask)
    table, _, name = kind.field.rpartition(".")
    assert table.partition(".")[0] in message
    assert name in message or kind.beside or "Did you mean" in message


NOT_TOML = [
    "=", "[", "a", "name", "name = ", "name = 'a", "\x01", "\ufeff[", "name = {a = 1",
    "a = 1\na = 2", "[model]\n[model]", 'name = """a', "x = " + "[" * 5000, "\ud800", "name = 0x",
    "a.b = 1\na = 2", "{}", '{"name": "a"}', "<html>", "a: 1",
    "privacy.epsilon = 1e400",
]  # fmt: skip
NO_FIELDS = ["", "# only a comment\n", "[features]\ncount = 4", "[[features]]", "\ufeff"]


@pytest.mark.parametrize("text", NOT_TOML, ids=[repr(text)[:30] for text in NOT_TOML])
def test_texts_that_are_not_toml(text: str) -> None:
    expect(lambda: Task.from_toml(text), r"the task file must be valid TOML: .*\.$", InvalidTask)


@pytest.mark.parametrize("text", NO_FIELDS, ids=[repr(text)[:30] for text in NO_FIELDS])
def test_files_without_fields_name_each(text: str) -> None:
    message = expect(lambda: Task.from_toml(text), r"name is missing\. Add it", InvalidTask)
    assert "\ntitle is missing" in message
    assert "\nmodel.kind is missing" in message


def test_the_table_covers_every_field() -> None:
    """A new field of a task file needs a row here."""
    known = {kind.field for kind in KINDS}
    assert {field for field, _ in fields_of(TaskFile)} - known == set()

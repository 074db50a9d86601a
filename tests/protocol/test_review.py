"""Test that a review finds all mistakes of a document, each with field, rule and value."""

import datetime
import json
from typing import Any

import msgspec
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from crowdml.errors import InvalidTask, Mistake
from crowdml.phrase import Phrase
from crowdml.protocol import Review, Task, Terms, field_rule, fields_of
from crowdml.protocol.task.task_file import TaskFile
from tests.protocol.files import FIELDS, task_file
from tests.protocol.test_wording import BANNED
from tests.protocol.wire.test_messages import GOOD
from tests.support.checkins import NoiseCheckin
from tests.wrong_inputs.expect_error import RAW

NAME = (
    "must be 1 to 63 lower-case letters, digits and hyphens, with no hyphen first, and no name "
    "that Windows reserves, such as con"
)
LINE = "must be a text of 1 to 200 characters"
TEXT = "must be a text of at most 2,000 characters"
LONG = '"' + "a" * 2001 + '"'
BILLION = "must be a number from 1e-9 to 1,000,000,000"
ENTRY = "each a text of 1 to 80 characters"
LABELS = f"must be a list of at most 1,000 entries, {ENTRY}"
COLUMNS = "must be a list of at most 100,000 entries, each a"
CENTER = f"{COLUMNS} number from -1,000,000,000,000,000 to 1,000,000,000,000,000"
EPSILON = "must be a number from 0.000001 to 1,000,000, or inf for no noise"
PART = "must be a number from 0.000001 to 1,000,000"

EXAMPLES = {
    "owner": 'Add it, say owner = "Jane Doe, Example University".',
    "contact": 'Add it, say contact = "study@example.org".',
    "purpose": 'Add it, say purpose = "A free app; the model is published".',
}
"""Fields whose bare name does not say what to write."""

WRONG: dict[str, tuple[str, list[str]]] = {
    "name": (NAME,
        ['"Activity!"', '""', '"' + "a" * 64 + '"', '"a b"', '"-a"', '"a\\n"', "3", "1", "true",
         "[]", '"Activity"', '"a_b"', '"a/b"', '"../a"', '"é"', '"con"', '"nul"', '"a."']),
    "title": (LINE, ['""', '"' + "a" * 201 + '"', "[]", "1", "true"]),
    "objective": (TEXT, [LONG, "1", "1979-05-27", "true", "[]"]),
    "owner": (LINE, ['""', '"' + "a" * 201 + '"', "1", "true", "[]"]),
    "contact": (LINE, ['""', "false", "1", "true", "[]"]),
    "purpose": ("must be a text of 1 to 2,000 characters", ['""', LONG, "1", "true", "[]"]),
    "sensors": (TEXT, [LONG, "true", "1", "[]"]),
    "features.count": ("must be a whole number from 1 to 100,000",
        ["0", "100001", "2.5", "4.0", '"many"', "true", "{}", "0x" + "f" * 9999, "-1", "1.5", '"4"',
         "inf", "[]"]),
    "features.description": (TEXT, [LONG, "1"]),
    "features.sensor.kind": ("must be motion, sound, light, speed or manual",
        ['"smell"', "1", '"Light"', "[]"]),
    "features.sensor.rate": ("must be a number from 0.01 to 1,000",
        ["0", "1e9", '"fast"', "-1", "inf", '"20"', "true"]),
    "features.sensor.window": ("must be a whole number from 1 to 4,096",
        ["0", "4097", "1.5", "-4", '"a"', "100000000"]),
    "features.sensor.transform": ("must be amplitudes, spectrum, summary or values",
        ['"wavelet"', '""', "1"]),
    "features.sensor.first_bin": ("must be a number from 0 to 1", ["-1", "2", "nan", '"a"']),
    "features.sensor.scale": (BILLION, ["0", "inf", "-1"]),
    "features.sensor.every": ("must be a number from 0 to 1,000,000",
        ["-1", "1e7", "nan", "inf", '"a"']),
    "features.sensor.trigger": ("must be always or label-change", ['"never"', "1"]),
    "features.sensor.fields": (f"must be a list of at most 200 entries, {ENTRY}",
        ['"a"', '[""]', "[1]", str(["a"] * 201)]),
    "features.names": (f"{COLUMNS} text of 1 to 80 characters",
        ['"a"', '["", "b", "c", "d"]', "[1, 2, 3, 4]", '["' + "a" * 81 + '", "b", "c", "d"]',
         '[[1], "b"]']),
    "features.center": (CENTER,
        ["1.0", '["a", 0, 0, 0]', "[inf, 0, 0, 0]", "[nan, 0, 0, 0]", "[1e16, 0, 0, 0]", "1",
         "[true, false]", "[1e300, 1]", "{a = 1}"]),
    "features.scale": (f"{COLUMNS} number from 1e-9 to 1,000,000,000",
        ["1.0", "[0, 1, 1, 1]", "[1, -1.0, 1, 1]", "[inf, 1, 1, 1]", "[nan, 1, 1, 1]", '"a"',
         "[1e-320, 1]"]),
    "features.length": (BILLION, ["0", "-1", "inf", "nan", "[1.0]", '"1"', "true"]),
    "features.missing": ("must be reject or center", ['"drop"', "0", '""', "true"]),
    "target.labels": (LABELS,
        ['["a", ""]', '["a", 2]', '["a", "' + "b" * 81 + '"]', '"a"',
         str([f"l{i}" for i in range(1001)]), "[1, 2]", '[["a"], "b"]', "[true, false]"]),
    "target.description": (TEXT, [LONG, "1"]),
    "target.scale": (BILLION, ["0", "-1", "inf", '"large"', "nan", '"1"']),
    "target.unit": ("must be a text of at most 40 characters", ["2", f'"{41 * "x"}"', "1"]),
    "model.kind": ("must be softmax, hinge, ridge or huber",
        ['"forest"', '"Softmax"', "2", '"svm"', "1", '""']),
    "model.clip": (BILLION,
        ["0.0", "nan", "inf", "1e308", "1.001e9", "1_000_000_001", "0", "-1", '"1"']),
    "model.regularization": ("must be a number from 0 to 1,000,000",
        ["-0.1", "inf", "1e308", "1.001e6", "-1", "nan", '"0"']),
    "model.radius": (BILLION, ["0", "inf", "1e308", "1.001e9", "-1", "nan"]),
    "model.intercept": ("must be true or false", ["1", '"yes"', '"no"', "0"]),
    "model.delta": (BILLION, ["-1.0", "inf", "1e308", "1.001e9", "0", "-1", "nan"]),
    "model.tolerance": (BILLION, ["0.0", "inf", "1e308", "1.001e9", "0", "-1", "nan"]),
    "model.start": (LINE, ['""', "1", "{}"]),
    "model.pilot": (TEXT, [LONG, "true", "1"]),
    "privacy.mechanism": ("must be direction, gaussian or laplace",
        ['"none"', "1", '"Laplace"', '""']),
    "privacy.epsilon": (EPSILON,
        ["-1", "0", "nan", '"1"', "1e308", "1.001e6", "true", "[1]", "1e-320", "1e-9"]),
    "privacy.epsilon_e": (PART, ["0", "inf", "1e308", "1.001e6", "9e-7", "-1", "nan", '"a"']),
    "privacy.epsilon_y": (PART, ["-2.0", "inf", "1e308", "1.001e6", "9e-7", "-1"]),
    "privacy.delta": ("must be a number from 1e-15 to 0.01",
        ["0", "0.1", "-1e-6", "1", "nan", "-1"]),
    "privacy.directions": ("must be a whole number from 2 to 4,096",
        ["1", "4097", "2.5", "1.5", "-1"]),
    "collection.batch": ("must be a whole number from 1 to 100,000",
        ["0", "100001", '"many"', "-1", "1.5", '"10"', "1e3", "true", "10000000000"]),
    "collection.buffer": ("must be a whole number from 1 to 1,000,000",
        ["0", "1000001", "-1", "1.5", '"a"']),
    "collection.heldout": ("must be a number from 0 to 0.5", ["0.6", "-0.1", "1", "nan"]),
    "collection.checkins": ("must be a whole number from 1 to 1,000,000",
        ["0", "1000001", "-1", "1.5", "10000000"]),
    "collection.evaluators": ("must be a number from 0 to 0.9", ["-0.1", "1.0", "1", "nan"]),
    "collection.counters": ("must be a number from 0 to 0.9", ["-0.1", "0.91", "-1", "1"]),
    "optimizer.kind": ("must be sgd, adagrad, dual-averaging or average-gradient", ['"adam"', "1"]),
    "optimizer.rate": ("must be planned, sqrt, constant or inverse", ['"fast"', "1"]),
    "optimizer.c": (BILLION, ["0", "inf", "1e308", "1.001e9", "-1", "nan", '"1"']),
    "optimizer.averaging": ("must be a number from 0 to 1,000",
        ["-1", "inf", "1.001e3", "nan", '"a"']),
    "optimizer.reach": (BILLION, ["0", "inf", "-1"]),
    "stop.updates": ("must be a whole number from 1 to 1,000,000,000,000",
        ["0", "1e5", "-1", "1.5", '"a"', "1e30"]),
    "stop.error": ("must be a number above 0 and below 1",
        ["0.0", "1.0", "-0.1", "1.5", "nan", '"a"']),
    "stop.window": ("must be a whole number from 10 to 100,000", ["9", "100001", "0", "-1", "1.5"]),
    "stop.samples": ("must be a whole number of at least 1", ["0", "-1"]),
    "stop.confidence": ("must be a number above 0.5 and below 1",
        ["0.5", "1.0", "0", "1", "2", "nan"]),
    "stop.devices": ("must be a whole number from 1 to 100,000", ["0", "100001", "-1", "1.5"]),
    "enrolment.mode": ("must be open or invite", ['"closed"', "1"]),
    "enrolment.checkins_per_minute": ("must be a number above 0 and at most 1,000,000,000,000",
        ["0", "inf", "-1", "nan"]),
    "enrolment.max_staleness": ("must be a whole number of at least 0", ["-1", "1.5", '"a"']),
}  # fmt: skip
SENSOR: dict[str, str | None] = {"features.sensor.kind": '"motion"'}


def mistakes_in(text: str) -> tuple[Mistake, ...]:
    with pytest.raises(InvalidTask) as error:
        Task.from_toml(text)
    assert str(error.value).splitlines() == [str(mistake) for mistake in error.value.mistakes]
    assert not RAW.search(str(error.value))
    return error.value.mistakes


def test_table_is_complete() -> None:
    assert list(WRONG) == [name for name, _ in fields_of(TaskFile)]


@pytest.mark.parametrize("name", WRONG)
def test_wrong_field(name: str) -> None:
    words, values = WRONG[name]
    for value in values:
        changes = (SENSOR if ".sensor." in name else {}) | {name: value}
        (mistake,) = mistakes_in(task_file(changes))
        assert (mistake.field, str(mistake.rule)) == (name, words)
        assert str(mistake).startswith(f"{name} {words}, found ")
        assert len(str(mistake)) < 300


NEEDED = [
    name
    for name in FIELDS
    if name.partition(".")[0] not in ("optimizer", "privacy", "stop", "target")
    and name != "collection.buffer"
]


@pytest.mark.parametrize("name", NEEDED)
def test_missing_field(name: str) -> None:
    table = name.rpartition(".")[0]
    remedy = f"Add it under [{table}]." if table else "Add it."
    (mistake,) = mistakes_in(task_file({name: None}))
    assert str(mistake) == f"{name} is missing. {EXAMPLES.get(name, remedy)}"


@pytest.mark.parametrize("text", ["", "# only a comment\n", "\ufeff"])
def test_an_empty_file_lacks_every_field_that_has_no_default(text: str) -> None:
    assert [mistake.field for mistake in mistakes_in(text)] == [*NEEDED, "stop.updates"]


@pytest.mark.parametrize("table", ["", *dict.fromkeys(n.rpartition(".")[0] for n in WRONG)])
def test_unknown_field(table: str) -> None:
    name = f"{table}.colour" if table else "colour"
    changes = (SENSOR if "sensor" in table else {}) | {name: "1"}
    (mistake,) = mistakes_in(task_file(changes))
    assert mistake.field == name
    assert str(mistake).startswith(f"{name} is not known here. Remove it. Known here: ")


@pytest.mark.parametrize(
    ("wrong", "meant"),
    [
        ("colection", "collection"), ("features.cuont", "features.count"),
        ("model.regularisation", "model.regularization"), ("privacy.epsilom", "privacy.epsilon"),
    ],
)  # fmt: skip
def test_a_misspelt_field_is_not_missing_as_well(wrong: str, meant: str) -> None:
    without = {name: None for name in FIELDS if name.startswith(meant)}
    (mistake,) = mistakes_in(task_file({**without, wrong: "1"}))
    assert str(mistake) == f"{wrong} is not known here. Did you mean {meant}?"


def test_five_mistakes_are_five_sentences() -> None:
    changes: dict[str, str | None] = {
        "collection.batch": '"many"', "features.count": None, "model.kind": '"svm"',
        "colour": "1", "stop.error": "1.0",
    }  # fmt: skip
    assert sorted(str(mistake) for mistake in mistakes_in(task_file(changes))) == [
        'collection.batch must be a whole number from 1 to 100,000, found "many".',
        "colour is not known here. Remove it. Known here: name, title, objective, owner, "
        "contact, purpose, sensors, features, target, model, privacy, collection, optimizer, "
        "stop and enrolment.",
        "features.count is missing. Add it under [features].",
        'model.kind must be softmax, hinge, ridge or huber, found "svm".',
        "stop.error must be a number above 0 and below 1, found 1.0.",
    ]


NOT_TOML = [
    "=", "[", "a", "name", "name = ", "name = = 3", "name = 'a", "\x01", "\ufeff[", "name = {a = 1",
    "a = 1\na = 2", "[model]\n[model]", 'name = """a', "x = " + "[" * 5000, "\ud800", "name = 0x",
    "a.b = 1\na = 2", "{}", '{"name": "a"}', "<html>", "a: 1", "privacy.epsilon = 1e400",
    "a = " + "9" * 5000, "a = " + "[" * 5000 + "]" * 5000,
]  # fmt: skip


@pytest.mark.parametrize("text", NOT_TOML, ids=[repr(text)[:30] for text in NOT_TOML])
def test_not_toml(text: str) -> None:
    with pytest.raises(InvalidTask, match=r"^the task file must be valid TOML: .*\.$") as error:
        Task.from_toml(text)
    assert ("line 1" in str(error.value)) or text != "name = = 3"
    assert not RAW.search(str(error.value))


@pytest.mark.parametrize("table", ["features", "model", "stop", "features.sensor"])
def test_a_value_in_place_of_a_table(table: str) -> None:
    without = {name: None for name in FIELDS if name.startswith(f"{table}.")}
    for value, found in (("3", "3"), ('"motion"', '"motion"'), ("[{}]", "a list")):
        (mistake,) = mistakes_in(task_file(without | {table: value}))
        assert str(mistake).startswith(f"{table} must be a table with the fields ")
        assert str(mistake.found) == found


def test_further_rules_speak_at_once_with_the_others() -> None:
    @field_rule("name", "title")
    def differ(name: str, title: str) -> list[Mistake]:
        return [Mistake("title", Phrase("must say more than the name"), f'"{title}"')]

    with pytest.raises(InvalidTask) as error:
        Task.from_toml(task_file({"stop.window": "1"}), differ)
    assert [mistake.field for mistake in error.value.mistakes] == ["stop.window", "title"]
    with pytest.raises(InvalidTask) as error:
        Task.from_toml(task_file({"name": "1"}), differ)
    assert [mistake.field for mistake in error.value.mistakes] == ["name"]


# Every broken field is named

scalars = st.one_of(
    st.integers(), st.floats(), st.booleans(), st.text(max_size=5), st.dates(), st.times()
)
values = st.recursive(scalars, lambda inner: st.lists(inner, max_size=3), max_leaves=4)
KINDS = {name: field.type for name, field in fields_of(TaskFile)}
BASE = {**FIELDS, **SENSOR, "features.sensor.window": "64", "privacy.epsilon_y": "0.1"}


def toml(value: Any) -> str:
    match value:
        case bool():
            return str(value).lower()
        case str():
            return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
        case list():
            return f"[{', '.join(map(toml, value))}]"
        case datetime.date() | datetime.time():
            return value.isoformat()
    return str(value)


def fits(value: Any, kind: Any) -> bool:
    try:
        msgspec.convert(value, kind)
    except msgspec.ValidationError:
        return False
    return True


@st.composite
def broken_files(draw: st.DrawFn) -> tuple[set[str], str]:
    """Draw fields of a good file, each with a value of a wrong type, or with no value."""
    names = draw(st.sets(st.sampled_from(list(KINDS)), min_size=1, max_size=8))
    needed = {"features.sensor.kind", *NEEDED}
    if "features.names" in names:
        needed -= {"features.count"}  # names imply the count; a mistake in them is named alone
    changes: dict[str, str | None] = {}
    for name in names:
        if name in needed and draw(st.booleans()):
            changes[name] = None
        else:
            value = draw(values)
            assume(not fits(value, KINDS[name]))
            changes[name] = toml(value)
    return names, task_file({**BASE, **changes})


@settings(deadline=None)
@given(broken_files())
def test_whatever_is_broken_is_named_and_nothing_else(case: tuple[set[str], str]) -> None:
    names, text = case
    mistakes = mistakes_in(text)
    assert {mistake.field for mistake in mistakes} == names
    assert len(mistakes) == len(names)
    for mistake in mistakes:
        sentence = str(mistake).partition(", found ")[0]
        assert not BANNED.search(sentence)
        assert str(mistake).isprintable()


# Every broken field of messages and terms is named

json_scalars = st.one_of(st.none(), st.integers(), st.floats(-1e9, 1e9), st.text(max_size=80))
json_values = st.recursive(
    json_scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=2),
    max_leaves=4,
)


@settings(deadline=None)
@given(st.sampled_from([*GOOD, "colour", "sample"]), json_values)
def test_a_check_in_is_rejected_exactly_where_a_mistake_is_found(name: str, value: Any) -> None:
    document = json.dumps({**GOOD, name: value})
    try:
        msgspec.json.decode(document, type=NoiseCheckin)
    except msgspec.ValidationError:
        expected = [name]
    else:
        expected = []
    review = Review(msgspec.json.decode(document), NoiseCheckin, "the body")
    assert [mistake.field for mistake in review.mistakes] == expected


def test_the_number_of_named_unknown_fields_is_limited() -> None:
    document = GOOD | {f"colour {n}": n for n in range(10_000)}
    mistakes = Review(document, NoiseCheckin, "the body").mistakes
    assert sum(len(str(mistake)) for mistake in mistakes) < 3000


@pytest.mark.parametrize("document", [[], None, 3, "checkin"])
def test_no_table_at_all(document: Any) -> None:
    (mistake,) = Review(document, NoiseCheckin, "the body").mistakes
    assert str(mistake).startswith("the body must be a table with the fields samples, ")


TERMS = json.loads(Task.from_toml(task_file(BASE | {"features.count": "4"})).terms.text)
TERMS["model"]["start"] = {"sha256": "0" * 64, "rows": 200, "people": 4, "words": "rooms"}


@settings(deadline=None)
@given(st.sampled_from([name for name, _ in fields_of(Terms)]), json_values)
def test_terms_from_a_server_are_taken_or_named_wrong(name: str, value: Any) -> None:
    document = json.loads(json.dumps(TERMS))
    *tables, field = name.split(".")
    place = document
    for table in tables:
        place = place[table]
    place[field] = value
    lines: list[str] = []
    named: set[str] = set()
    try:
        Terms.parse(json.dumps(document))
    except InvalidTask as error:
        lines, named = str(error).split("\n"), {mistake.field for mistake in error.mistakes}
    assert all(line.startswith("the server's terms make no sense: ") for line in lines)
    assert all(line.isprintable() for line in lines)
    inside = {field.partition(".")[0] for field in named}
    assert name in named | inside or fits(value, dict(fields_of(Terms))[name].type)

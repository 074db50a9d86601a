"""Test setting fields of a task file while everything else in the file is kept."""

import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crowdml.errors import InvalidTask
from crowdml.protocol import MECHANISMS, Task, recommended_fields, set_fields
from tests.protocol.files import task_file

TEXT = """\
# Mine.
name = "steps"  # short

[privacy]
epsilon = 4.0   # per person

# What a device collects.
[collection]
batch = 20
buffer = 200
"""


def test_a_field_is_changed_where_it_stands() -> None:
    changed = set_fields(TEXT, {"privacy.epsilon": 2.0, "collection.batch": 7})
    assert changed == TEXT.replace("4.0 ", "2.0 ").replace("batch = 20", "batch = 7")


def test_a_field_is_added_to_its_table_and_not_below_the_next_one_s_comment() -> None:
    changed = set_fields(TEXT, {"privacy.mechanism": "direction"})
    line = "epsilon = 4.0   # per person\n"
    assert changed == TEXT.replace(line, line + 'mechanism = "direction"\n')


def test_a_field_outside_all_tables_is_added_before_them() -> None:
    document = tomllib.loads(set_fields(TEXT, {"title": "Steps"}))
    assert document["title"] == "Steps"


def test_a_table_is_added_at_the_end() -> None:
    assert set_fields(TEXT, {"stop.updates": 300}) == TEXT + "\n[stop]\nupdates = 300\n"


def test_a_field_is_removed_and_an_absent_one_is_not_missed() -> None:
    changed = set_fields(TEXT, {"collection.buffer": None, "model.clip": None, "title": None})
    assert changed == TEXT.replace("buffer = 200\n", "")


def test_a_field_is_added_to_an_inline_table() -> None:
    text = "collection = {batch = 20}  # few\n\n[stop]\nupdates = 5\n"
    changed = set_fields(text, {"collection.batch": 7, "collection.checkins": 3})
    assert tomllib.loads(changed) == {
        "collection": {"batch": 7, "checkins": 3},
        "stop": {"updates": 5},
    }
    assert "  # few\n\n[stop]\n" in changed


def test_a_table_inside_a_text_is_no_table() -> None:
    text = 'objective = """\n[stop]\nupdates = 5\n"""\n\n[stop]\nupdates = 5  # real\n'
    assert set_fields(text, {"stop.updates": 9}) == text.replace("5  # real", "9  # real")


@pytest.mark.parametrize("text", ["a.b = 1  # one\na.c = 2\n", "[x]\ny = 1\n[a]\nb = 1\nc = 2\n"])
def test_dotted_keys_stay_dotted(text: str) -> None:
    changed = set_fields(text, {"a.b": 5, "a.c": None, "a.d": 6})
    assert tomllib.loads(changed)["a"] == {"b": 5, "d": 6}
    assert ("[a]" in changed) == ("[a]" in text)


def test_a_table_of_which_only_an_inner_one_stands_there() -> None:
    changed = set_fields('[features.sensor]\nkind = "motion"\n', {"features.count": 9})
    assert tomllib.loads(changed) == {"features": {"sensor": {"kind": "motion"}, "count": 9}}


def test_line_ends_stay_as_they_are() -> None:
    text = TEXT.replace("\n", "\r\n")
    changed = set_fields(text, {"privacy.mechanism": "direction", "stop.updates": 3})
    assert changed.count("\n") == changed.count("\r\n") == text.count("\n") + 4
    assert changed.replace("\r\n", "\n").startswith(TEXT[: TEXT.index("\n# What")].rstrip())


@pytest.mark.parametrize("text", ["a = ", "a = 1\na = 2\n", "[a]\n[a]\n", "a = " + 5000 * "["])
def test_what_is_no_toml_gets_the_error_of_a_task_file(text: str) -> None:
    with pytest.raises(InvalidTask, match="the task file must be valid TOML: "):
        set_fields(text, {"a": 1})


NAMES = st.sampled_from(["a", "b", "c", "d"])
VALUES = st.one_of(
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False),
    st.text(st.characters(exclude_categories=["Cs"])),
    st.lists(st.text("abä\"'#\n]", max_size=3), max_size=3),
)
DOCUMENTS = st.dictionaries(NAMES, st.one_of(VALUES, st.dictionaries(NAMES, VALUES)), max_size=4)
LAYOUTS = st.sampled_from(["tables", "inline", "dotted"])


def written(document: dict[str, Any], layout: str) -> str:
    """Write a TOML document in one of the ways that people write tables."""
    plain = [f"{name} = {value(v)}" for name, v in document.items() if not isinstance(v, dict)]
    tables = {name: v for name, v in document.items() if isinstance(v, dict)}
    for name, table in tables.items():
        entries = [f"{key} = {value(v)}" for key, v in table.items()]
        if layout == "inline":
            plain.append(f"{name} = {{{', '.join(entries)}}} # {name}")
        elif layout == "dotted":
            plain += [f"{name}.{entry} # {name}" for entry in entries]
        else:
            plain += ["", f"# {name}", f"[{name}]  # {name}", *entries]
    return "\n".join([*plain, ""])


def value(v: Any) -> str:
    return set_fields("", {"v": v}).removeprefix("v = ").rstrip("\n")


@given(DOCUMENTS, LAYOUTS, st.dictionaries(st.tuples(NAMES, NAMES), st.none() | VALUES))
def test_any_document_says_what_was_set_and_nothing_else_changes(
    document: dict[str, Any], layout: str, changes: dict[tuple[str, str], Any]
) -> None:
    text = written(document, layout)
    expected = tomllib.loads(text)
    fields = {}
    for (table, name), v in changes.items():
        inside = expected.setdefault(table, {})
        if isinstance(inside, dict):
            fields[f"{table}.{name}"] = v
            inside.pop(name, None)
            inside |= {} if v is None else {name: v}
    found = tomllib.loads(set_fields(text, fields))
    # A table may disappear with its last field.
    assert {k: v for k, v in found.items() if v != {}} == {
        k: v for k, v in expected.items() if v != {}
    }


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("before", MECHANISMS)
def test_recommended_fields_make_a_task_of_any_other(before: str, mechanism: str) -> None:
    options: dict[str, dict[str, Any]] = {
        "direction": {"privacy.directions": 64, "collection.checkins": 2},
        "gaussian": {"privacy.delta": 1e-5, "collection.heldout": 0.1},
        "laplace": {"privacy.epsilon_e": 0.1, "model.clip": 0.1},
    }
    text = set_fields(
        task_file(),
        dict[str, Any](recommended_fields(before, 20, 1, 100))
        | options[before]
        | {"privacy.epsilon": 1.0, "collection.buffer": 300},
    )
    Task.from_toml(text)
    task = Task.from_toml(set_fields(text, recommended_fields(mechanism, 30, 4, 50)))
    assert task.terms.mechanism_name == mechanism
    assert task.terms.collection.batch == 30
    assert task.t_max == 200
    assert task.terms.collection.checkins == (4 if mechanism == "direction" else None)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("a = 1\na = 2\n", "must be valid TOML"),
        ("privacy = 3\n", "privacy must be a table, found 3"),
        ("[[collection]]\nbatch = 1\n", "collection must be a table, found a list"),
    ],
)
def test_what_is_no_task_file_is_not_changed(text: str, complaint: str) -> None:
    with pytest.raises(InvalidTask, match=complaint):
        set_fields(text, recommended_fields("direction", 20, 1, 100))

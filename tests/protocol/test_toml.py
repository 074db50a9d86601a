"""Changing a field of a task file, and nothing else that people wrote."""

import tomllib

import pytest

from crowdml.protocol import set_fields

TEXT = """\
# Mine.
name = "steps"  # short

[privacy]
epsilon = 4.0   # per person

[collection]
batch = 20
buffer = 200
"""


def test_a_line_is_changed_where_it_stands() -> None:
    changed = set_fields(TEXT, {"privacy.epsilon": 2.0, "collection.batch": 7})
    assert changed == TEXT.replace("4.0 ", "2.0 ").replace("batch = 20", "batch = 7")


def test_a_field_is_added_to_its_table() -> None:
    document = tomllib.loads(set_fields(TEXT, {"privacy.mechanism": "direction"}))
    assert document["privacy"] == {"mechanism": "direction", "epsilon": 4.0}


def test_a_table_is_added_at_the_end() -> None:
    changed = set_fields(TEXT, {"stop.updates": 300})
    assert changed == TEXT + "\n[stop]\nupdates = 300\n"


def test_a_field_is_taken_out() -> None:
    changed = set_fields(TEXT, {"collection.buffer": None, "model.clip": None})
    assert changed == TEXT.replace("buffer = 200\n", "")


@pytest.mark.parametrize("value", ['a "quoted" word', "ε", "#5"])
def test_texts_survive(value: str) -> None:
    document = tomllib.loads(set_fields(TEXT, {"name": value}))
    assert document["name"] == value


def test_only_its_own_table_is_touched() -> None:
    text = "[a]\nbatch = 1\n[b]\nbatch = 2\n"
    assert set_fields(text, {"b.batch": 3}) == "[a]\nbatch = 1\n[b]\nbatch = 3\n"

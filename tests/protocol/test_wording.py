"""Test that every rule has plain words for people, without technical terms."""

import re
from typing import Annotated, Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crowdml.phrase import Phrase
from crowdml.protocol import Enrol, Terms, fields_of
from crowdml.protocol.task.task_file import TaskFile
from crowdml.protocol.wording import cut, in_words, shown
from tests.support.checkins import DirectionCheckin, NoiseCheckin

ONE_X = {"words": Phrase("one x")}
BANNED = re.compile(r"`|\b(regex|objects?|arrays?|msgspec|expected|matching|str|int|required)\b")


@pytest.mark.parametrize("document", [TaskFile, Terms, DirectionCheckin, NoiseCheckin, Enrol])
def test_every_field_has_words(document: Any) -> None:
    for name, field in fields_of(document):
        words = str(in_words(field.type))
        assert words[:1].islower() or words[:1].isdigit(), f"{name} must complete a sentence"
        assert not words.endswith("."), name
        assert not BANNED.search(words), name


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (Annotated[int, msgspec.Meta(ge=0)], "a whole number of at least 0"),
        (Annotated[float, msgspec.Meta(gt=0, le=2.5)], "a number above 0 and at most 2.5"),
        (Annotated[float, msgspec.Meta(le=1e6)], "a number of at most 1,000,000"),
        (Annotated[str, msgspec.Meta(min_length=1)], "a text of at least 1 characters"),
        (tuple[bool, ...], "a list, each true or false"),
        (Annotated[str, msgspec.Meta(pattern="^x$", extra=ONE_X)] | None, "one x"),
        (Enrol, "a table with the fields terms and invite"),
    ],
)
def test_words(kind: Any, words: str) -> None:
    assert str(in_words(kind)) == words


def test_a_pattern_alone_says_nothing_to_people() -> None:
    with pytest.raises(KeyError):
        in_words(Annotated[str, msgspec.Meta(pattern="^x$")])


@given(st.text())
def test_no_text_from_outside_steers_a_terminal(text: str) -> None:
    assert cut(text).isprintable()
    assert len(str(shown(text))) < 1000


def test_what_is_shown_is_short() -> None:
    for value in (10**5000, -(10**5000), "a" * 10**6, ["a"] * 10**6, {"a": 1}, None, 1e-300):
        assert len(str(shown(value))) < 100

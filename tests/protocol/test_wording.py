"""Plain words for people: every rule has them, and nothing of the machinery shows."""

import re
from typing import Annotated, Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crowdml.phrase import Phrase
from crowdml.protocol import Enrol, Terms, fields_of
from crowdml.protocol.task_file import TaskFile
from crowdml.protocol.wording import cut, in_words, shown
from tests.checkins import DirectedCheckin, NoisyCheckin

ONE_X = {"words": Phrase("one x")}
BANNED = re.compile(r"`|\b(regex|objects?|arrays?|msgspec|expected|matching|str|int|required)\b")
DOCUMENTS = {
    f"{document.__name__}.{name}": field.type
    for document in (TaskFile, Terms, DirectedCheckin, NoisyCheckin, Enrol)
    for name, field in fields_of(document)
}


@pytest.mark.parametrize("kind", DOCUMENTS.values(), ids=DOCUMENTS)
def test_every_field_has_words(kind: Any) -> None:
    words = str(in_words(kind))
    assert words[:1].islower() or words[:1].isdigit(), "it completes a sentence"
    assert not words.endswith(".")
    assert not BANNED.search(words)


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

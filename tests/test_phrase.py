"""Test phrases: there and back through JSON, in other languages, and in errors."""

import json
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crowdml.errors import CrowdmlError, InvalidInput, InvalidTask, Mistake, Rejected
from crowdml.phrase import Language, Number, Phrase, PlainText, Value, join_phrases, read_phrase

NAMES = st.sampled_from(["a", "b", "found", "part1"])
TEXTS = st.text(max_size=20)
NUMBERS = st.integers(-(10**12), 10**12) | st.floats(-1e12, 1e12)


def phrase_of(words: list[str], values: dict[str, Value]) -> Phrase:
    plain = [word.replace("{", "").replace("}", "") for word in words]
    return Phrase(" ".join([*plain, *(f"{{{name}}}" for name in values)]), **values)


PHRASES = st.recursive(
    st.builds(phrase_of, st.lists(TEXTS), st.dictionaries(NAMES, TEXTS | NUMBERS)),
    lambda inner: st.builds(
        phrase_of, st.lists(TEXTS), st.dictionaries(NAMES, TEXTS | NUMBERS | inner)
    ),
    max_leaves=4,
)


@given(PHRASES)
def test_there_and_back(phrase: Phrase) -> None:
    found = read_phrase(json.loads(json.dumps(phrase.document)))
    assert found == phrase
    assert str(found) == str(phrase)


def test_json_knows_neither_infinity_nor_our_numbers() -> None:
    phrase = Phrase("{a} {b} {c}", a=float("inf"), b=Number("99.97"), c=PlainText("{x}"))
    assert phrase.document["values"] == {"a": "∞", "b": "99.97", "c": "{x}"}
    assert str(phrase) == "∞ 99.97 {x}"


def test_nested_phrases_cannot_multiply() -> None:
    document: object = "ha"
    for _ in range(10):
        document = {"template": "{a}" * 10, "values": {"a": document}}
    assert read_phrase(document) is None


def test_phrases_are_not_nested_without_end() -> None:
    document: object = {"template": "", "values": {}}
    for _ in range(100):
        document = {"template": "{a}", "values": {"a": document}}
    assert read_phrase(document) is None


def test_a_plain_text_is_never_translated() -> None:
    german = Language({"none": "keine", "{a}, {b}": "{b}, {a}"})
    text = Phrase("{a}, {b}", a="none", b=Phrase("none"))
    assert text.render(german) == "keine, none"
    assert PlainText("none").render(german) == "none"


FRENCH = Language(
    {"{n} samples": {"one": "{n} exemple", "other": "{n} exemples"}},
    "\u202f",
    ",",
    lambda n: "other" if n > 1 else "one",
)


@pytest.mark.parametrize(
    ("n", "said"),
    [
        (0, "0 exemple"),
        (1, "1 exemple"),
        (2, "2 exemples"),
        (1000000, "1\u202f000\u202f000 exemples"),
        (0.5, "0,5 exemples"),
        ("1", "1 exemples"),
    ],
)
def test_the_words_for_a_number_are_those_of_the_language(n: Value, said: str) -> None:
    assert Phrase("{n} samples", n=n).render(FRENCH) == said


def test_braces_in_values_are_kept() -> None:
    assert str(join_phrases(["{a}", PlainText("{b}")], " ")) == "{a} {b}"


@pytest.mark.parametrize("kind", [CrowdmlError, InvalidInput])
def test_an_error_has_a_phrase(kind: type[CrowdmlError]) -> None:
    phrase = Phrase("{n} samples", n=1200)
    said, plain = kind(phrase), kind("1,200 {samples}")
    assert (str(said), said.phrase, said.lines) == ("1,200 samples", phrase, ("1,200 samples",))
    assert (str(plain), plain.phrase) == ("1,200 {samples}", PlainText("1,200 {samples}"))
    assert str(kind()) == ""
    assert pickle.loads(pickle.dumps(said)).phrase == phrase


def test_a_rejection_has_an_english_detail_beside_its_phrase() -> None:
    phrase = Phrase("{n} samples", n=1200)
    error = Rejected("implausible", 422, phrase)
    assert (error.detail, error.phrase) == ("1,200 samples", phrase)


def test_mistakes_of_a_task_make_one_phrase() -> None:
    catalogue = {
        "must be above {n}": "muss über {n} sein",
        "{field} {rule}, found {found}.": "{field} {rule}, gefunden: {found}.",
        "Add it.": "Ergänzen Sie es.",
        "is missing": "fehlt",
        "{field} {rule}.": "{field} {rule}.",
    }
    wrong = Mistake("epsilon", Phrase("must be above {n}", n=1000), 0)
    missing = Mistake("name", Phrase("is missing"), remedy=Phrase("Add it."))
    error = InvalidTask(wrong, missing, start="here: ")
    assert error.lines == (
        "here: epsilon must be above 1,000, found 0.",
        "here: name is missing. Add it.",
    )
    assert str(error) == "\n".join(error.lines)
    assert error.phrase.render(Language(catalogue, ".", ",")).splitlines() == [
        "here: epsilon muss über 1.000 sein, gefunden: 0.",
        "here: name fehlt. Ergänzen Sie es.",
    ]

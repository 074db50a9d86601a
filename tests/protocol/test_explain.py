"""One sentence from a validation error: where, the rule, the value found."""

from typing import Annotated, Any

import msgspec
import pytest

from crowdml.protocol import explain


class Inner(msgspec.Struct, forbid_unknown_fields=True):
    size: Annotated[int, msgspec.Meta(ge=1)] = 1
    names: list[Annotated[str, msgspec.Meta(min_length=1)]] = []

    def __post_init__(self) -> None:
        if self.size == 13:
            raise ValueError("size must be lucky, found 13")


class Outer(msgspec.Struct, forbid_unknown_fields=True):
    inner: Inner
    flag: bool = False


@pytest.mark.parametrize(
    ("document", "sentence"),
    [
        ({"inner": {"size": 0}}, "inner.size: expected `int` >= 1, found 0."),
        ({"inner": {"size": "x"}}, 'inner.size: expected `int`, got `str`, found "x".'),
        ({"inner": {"names": ["a", ""]}}, "inner.names[1]: expected `str` of length >= 1"),
        ({"inner": {"size": 13}}, "inner: size must be lucky, found 13."),
        ({"inner": {"other": 1}}, "inner: object contains unknown field `other`."),
        ({}, "object missing required field `inner`."),
        ({"inner": 3}, "inner: expected `object`, got `int`, found 3."),
        (3, "expected `object`, got `int`, found 3."),
    ],
)
def test_sentence(document: Any, sentence: str) -> None:
    with pytest.raises(msgspec.ValidationError) as error:
        msgspec.convert(document, Outer)
    assert explain(error.value, document).startswith(sentence)


def test_long_values_are_cut() -> None:
    document = {"inner": {"size": "x" * 10_000}}
    with pytest.raises(msgspec.ValidationError) as error:
        msgspec.convert(document, Outer)
    assert len(explain(error.value, document)) < 120

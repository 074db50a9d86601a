"""Plain words for what a field must be, and for what was found in it."""

from collections.abc import Iterable
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from msgspec import Meta, Struct

from crowdml.visible import visible

__all__ = ["cut", "in_words", "listed", "number", "shown"]

LONGEST = 60
NO_META = Meta()
NOUNS = {
    bool: "true or false",
    bytes: "bytes in base64",
    float: "a number",
    int: "a whole number",
}
"""A text with a pattern has none: only a description can say in words what a pattern means."""


def in_words(kind: Any) -> str:
    """What a value of this type is, to complete the sentence "it must be …".

    A description completes that sentence too and, where a type has one, is what people read.

    >>> in_words(Annotated[int, Meta(ge=1, le=100_000)])
    'a whole number from 1 to 100,000'
    >>> in_words(Annotated[float, Meta(gt=0, lt=1)] | None)
    'a number above 0 and below 1'
    >>> in_words(Literal["softmax", "hinge", "ridge"])
    'softmax, hinge or ridge'
    """
    kind, meta = get_args(kind)[:2] if get_origin(kind) is Annotated else (kind, NO_META)
    if meta.description:
        return str(meta.description)
    origin, parts = get_origin(kind) or kind, get_args(kind)
    if origin is Literal:
        return listed(parts)
    if origin in (Union, UnionType):
        return listed(in_words(part) for part in parts if part is not NoneType)
    if origin is tuple:
        return f"a list{_length(meta, 'entries')}, each {in_words(parts[0])}"
    if issubclass(origin, Struct):
        return f"a table with the fields {listed(origin.__struct_fields__, 'and')}"
    if origin is str and not meta.pattern:
        return "a text" + _length(meta, "characters")
    return NOUNS[origin] + _range(meta)


def listed(words: Iterable[object], joint: str = "or") -> str:
    """
    >>> listed(["one"]), listed(["one", "two", "three"], "and")
    ('one', 'one, two and three')
    """
    *most, last = map(str, words)
    return f"{', '.join(most)} {joint} {last}" if most else last


def shown(value: Any) -> str:
    """A value found.

    >>> shown("many"), shown(True), shown([1])
    ('"many"', 'true', 'a list')
    """
    match value:
        case bool():
            return str(value).lower()
        case str():
            length = f" of {len(value):,} characters" if len(value) > LONGEST else ""
            return f'"{cut(value)}"{length}'
        case list():
            return "a list"
        case dict():
            return "a table"
        case None:
            return "null"
        case int() if value.bit_length() > 128:
            return "a huge number"
        case _:
            return cut(str(value))


def cut(text: str) -> str:
    """A text from elsewhere, of which so much is shown."""
    return visible(text if len(text) <= LONGEST else text[:LONGEST] + "…")


def _range(meta: Meta) -> str:
    if meta.ge is not None and meta.le is not None:
        return f" from {number(meta.ge)} to {number(meta.le)}"
    ends = {"at least": meta.ge, "above": meta.gt, "at most": meta.le, "below": meta.lt}
    said = " and ".join(f"{word} {number(end)}" for word, end in ends.items() if end is not None)
    return f" of {said}" if said.startswith("at") else f" {said}".rstrip()


def _length(meta: Meta, unit: str) -> str:
    least, most = meta.min_length, meta.max_length
    if most is None:
        return f" of at least {least:,} {unit}" if least else ""
    return f" of {f'{least:,} to' if least else 'at most'} {most:,} {unit}"


def number(value: float) -> str:
    """
    >>> number(1e6), number(0.5), number(1e-9)
    ('1,000,000', '0.5', '1e-09')
    """
    return f"{int(value):,}" if value == int(value) else f"{value:g}"

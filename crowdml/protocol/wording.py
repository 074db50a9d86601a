"""Describe in plain words what a field must be, and what was found in it."""

from collections.abc import Iterable
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeAlias, Union, get_args, get_origin

from msgspec import Meta, Struct

from crowdml.phrase import Phrase, join_phrases
from crowdml.visible import visible

Words: TypeAlias = str | Phrase
"""A plain text, which is the same in every language, or a phrase."""

LONGEST_SHOWN = 60
NO_META = Meta()
NOUNS = {
    bool: Phrase("true or false"),
    bytes: Phrase("bytes in base64"),
    float: Phrase("a number"),
    int: Phrase("a whole number"),
}
"""The noun for each type. A text with a pattern has none: only `extra` can describe a pattern."""


def in_words(kind: Any) -> Words:
    """Describe a value of this type, to complete the sentence "it must be …".

    Where the type's `Meta` has `extra={"words": …}`, that phrase completes the sentence; with
    `extra={"names": …}`, a registry, its names do, those of this moment.

    >>> str(in_words(Annotated[int, Meta(ge=1, le=100_000)]))
    'a whole number from 1 to 100,000'
    >>> str(in_words(Annotated[float, Meta(gt=0, lt=1)] | None))
    'a number above 0 and below 1'
    >>> str(in_words(Literal["softmax", "hinge", "ridge"]))
    'softmax, hinge or ridge'
    """
    kind, meta = get_args(kind)[:2] if get_origin(kind) is Annotated else (kind, NO_META)
    if meta.extra:
        words: Phrase | None = meta.extra.get("words")
        return words or listed(meta.extra["names"])
    origin, parts = get_origin(kind) or kind, get_args(kind)
    if origin is Literal:
        return listed(parts)
    if origin in (Union, UnionType):
        return listed(in_words(part) for part in parts if part is not NoneType)
    if origin is tuple:
        whole = _sized(Phrase("a list"), meta, Phrase("entries"))
        return Phrase("{list}, each {entry}", list=whole, entry=in_words(parts[0]))
    if not issubclass(origin, Struct | str | bytes | float | int):
        return Phrase("a table")
    if issubclass(origin, Struct):
        return Phrase(
            "a table with the fields {fields}", fields=listed(origin.__struct_fields__, "and")
        )
    if origin is str and not meta.pattern:
        return _sized(Phrase("a text"), meta, Phrase("characters"))
    return _ranged(NOUNS[origin], meta)


def listed(words: Iterable[Words], joint: Literal["and", "or"] = "or") -> Words:
    """Join words to a list in a sentence.

    >>> listed(["one"]), str(listed(["one", "two", "three"], "and"))
    ('one', 'one, two and three')
    """
    *most, last = words
    if not most:
        return last
    return Phrase(
        "{most} or {last}" if joint == "or" else "{most} and {last}",
        most=join_phrases(most, ", "),
        last=last,
    )


def shown(value: Any) -> Words:
    """Show a value that was found.

    >>> print(shown("many"), shown(True), shown([1]))
    "many" true a list
    """
    match value:
        case bool():
            return str(value).lower()
        case str() if len(value) > LONGEST_SHOWN:
            return Phrase("{text} of {n} characters", text=_quoted(value), n=len(value))
        case str():
            return _quoted(value)
        case list():
            return Phrase("a list")
        case dict():
            return Phrase("a table")
        case None:
            return "null"
        case int() if value.bit_length() > 128:
            return Phrase("a huge number")
        case _:
            return cut(str(value))


def _quoted(text: str) -> Phrase:
    """Quote a text from elsewhere, with the quotation marks of the reader's language."""
    return Phrase('"{text}"', text=cut(text))


def cut(text: str) -> str:
    """Shorten a text from elsewhere to a length that can be shown."""
    return visible(text if len(text) <= LONGEST_SHOWN else text[:LONGEST_SHOWN] + "…")


def _ranged(noun: Phrase, meta: Meta) -> Phrase:
    if meta.ge is not None and meta.le is not None:
        return Phrase(
            "{noun} from {least} to {most}", noun=noun, least=number(meta.ge), most=number(meta.le)
        )
    ends = [end for end in (_lower_end(meta), _upper_end(meta)) if end]
    if not ends:
        return noun
    of = meta.ge is not None or (meta.gt is None and meta.le is not None)
    return Phrase(
        "{noun} of {ends}" if of else "{noun} {ends}", noun=noun, ends=listed(ends, "and")
    )


def _lower_end(meta: Meta) -> Phrase | None:
    if meta.ge is not None:
        return Phrase("at least {n}", n=number(meta.ge))
    return None if meta.gt is None else Phrase("above {n}", n=number(meta.gt))


def _upper_end(meta: Meta) -> Phrase | None:
    if meta.le is not None:
        return Phrase("at most {n}", n=number(meta.le))
    return None if meta.lt is None else Phrase("below {n}", n=number(meta.lt))


def entries(n: int) -> Phrase:
    """Count the entries of a list.

    >>> str(entries(1)), str(entries(2))
    ('1 entry', '2 entries')
    """
    return Phrase("{n} entry", n=n) if n == 1 else Phrase("{n} entries", n=n)


def _sized(noun: Phrase, meta: Meta, unit: Phrase) -> Phrase:
    least, most = meta.min_length, meta.max_length
    if most is None:
        if not least:
            return noun
        return Phrase("{noun} of at least {least} {unit}", noun=noun, least=least, unit=unit)
    if not least:
        return Phrase("{noun} of at most {most} {unit}", noun=noun, most=most, unit=unit)
    return Phrase(
        "{noun} of {least} to {most} {unit}", noun=noun, least=least, most=most, unit=unit
    )


def number(value: float) -> float:
    """Write a bound as people do: a whole number without a point.

    >>> number(1e6), number(0.5), number(1e-9)
    (1000000, 0.5, 1e-09)
    """
    return int(value) if value == int(value) else value

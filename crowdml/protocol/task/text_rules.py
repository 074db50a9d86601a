"""Check the texts of a task file: what people read, and what files of samples must match."""

import unicodedata
from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

from crowdml.errors import Mistake
from crowdml.phrase import Phrase
from crowdml.protocol.review import FieldRule
from crowdml.protocol.wording import shown

LINE_FIELDS = ("title", "owner", "contact")
TEXT_FIELDS = ("objective", "purpose", "sensors")
OPTIONAL_FIELDS = ("features.description", "target.description", "model.pilot")
NAME_FIELDS = ("features.names", "features.sensor.fields", "target.labels")

BIDI_CONTROLS = frozenset(
    "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
)
INVISIBLE = frozenset("\u200b\u2028\u2029\u2060\ufeff")
TextCheck: TypeAlias = Callable[[str, str], Iterator[Mistake]]
LAYOUT = frozenset("\n\t")
"""Control characters that a text of several lines may have."""


def _line(field: str, text: str) -> Iterator[Mistake]:
    if not text.strip():
        yield Mistake(field, Phrase("must not be blank"), shown(text))
    elif len(text.splitlines()) > 1:
        yield Mistake(field, Phrase("must be one line"), shown(text))
    else:
        yield from _plain(field, text)


def _plain(field: str, text: str, allowed: frozenset[str] = frozenset()) -> Iterator[Mistake]:
    """Reject characters that control a terminal or a page and could hide what people agree to."""
    for each in text:
        if (_controls(each) and each not in allowed) or each in BIDI_CONTROLS | INVISIBLE:
            must = Phrase("must not have control characters or marks of direction")
            yield Mistake(field, must, shown(text))
            return


def _controls(character: str) -> bool:
    return unicodedata.category(character) in ("Cc", "Cs")


def _text(field: str, text: str) -> Iterator[Mistake]:
    if not text.strip():
        yield Mistake(field, Phrase("must not be blank"), shown(text))
    yield from _plain(field, text, LAYOUT)


def _if_given(check: TextCheck) -> TextCheck:
    """Apply a check to a text that a task file may leave out."""
    return lambda field, text: check(field, text) if text else iter(())


def _names(field: str, names: Sequence[str]) -> Iterator[Mistake]:
    labels = field == "target.labels"
    seen: dict[str, str] = {}
    for name in names:
        if name != name.strip():
            yield Mistake(field, Phrase("must not begin or end with a space"), shown(name))
        if labels and ("," in name or len(name.splitlines()) > 1):
            must = Phrase("must not have a comma or a line break, which files of samples use")
            yield Mistake(field, must, shown(name))
        yield from _plain(field, name)
        folded = _folded(name, labels)
        if folded in seen:
            yield Mistake(field, *_alike(seen[folded], name, labels))
        seen[folded] = name


def _alike(one: str, other: str, labels: bool) -> tuple[Phrase, Phrase]:
    """Return the rule that two names break, and both names."""
    if one == other:
        return Phrase("must differ from each other"), Phrase("{value} twice", value=shown(one))
    must = Phrase("must differ in more than spaces or the form of characters")
    if labels:
        must = Phrase("must differ in more than case, spaces or the form of characters")
    return must, Phrase("{one} and {other}", one=shown(one), other=shown(other))


def _folded(name: str, labels: bool) -> str:
    """Drop the differences that people may not see: spaces, forms of characters, a label's case."""
    joined = "".join(unicodedata.normalize("NFKC", name).split())
    return unicodedata.normalize("NFKC", joined.lower()) if labels else joined


def _about(field: str, check: TextCheck) -> FieldRule:
    return FieldRule((field,), lambda value: check(field, value))


def _about_names(field: str) -> FieldRule:
    return FieldRule((field,), lambda names: _names(field, names))


TEXT_RULES = (
    *(_about(field, _line) for field in LINE_FIELDS),
    *(_about(field, _text) for field in TEXT_FIELDS),
    *(_about(field, _if_given(_text)) for field in OPTIONAL_FIELDS),
    _about("target.unit", _if_given(_line)),
    *map(_about_names, NAME_FIELDS),
)

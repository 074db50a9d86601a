"""Keep a sentence as an English template and its values, so that any language can write it."""

import math
import re
from collections.abc import Callable, Iterable, Mapping
from decimal import ROUND_HALF_UP, Context
from typing import Any, NamedTuple, TypeAlias, Union

from crowdml.keywords import check_keywords

__all__ = [
    "ENGLISH",
    "Language",
    "Number",
    "Phrase",
    "PlainText",
    "Value",
    "join_phrases",
    "read_phrase",
    "written",
]

NAME = re.compile(r"\{([a-z_][a-z0-9_]*)\}")
DEEPEST, LONGEST, LARGEST = 16, 10_000, 1e30
"""The limits of a phrase that is read: nested phrases, the length of a text, and numbers."""


class Number(str):
    """Hold a number that is already written in English, such as `"1,024"` or `"99.97"`."""

    __slots__ = ()


SIX_DIGITS = Context(prec=6, rounding=ROUND_HALF_UP)
Value: TypeAlias = Union[str, int, float, "Phrase"]


class Language(NamedTuple):
    """Hold the texts of a language, and how the language writes numbers.

    Args:
        texts: Its templates by the English ones. Where the words depend on the whole number `n`,
            there is a template for each form that CLDR names: one, two, few, many, other.
        thousands: What separates groups of three digits.
        decimal: What separates whole numbers from decimals.
        form: Names the form that goes with a whole number.
    """

    texts: Mapping[str, str | Mapping[str, str]] = {}
    thousands: str = ","
    decimal: str = "."
    form: Callable[[int], str] = lambda n: "one" if n == 1 else "other"

    def template(self, english: str, values: Mapping[str, "Value"]) -> str:
        """Return the template for these values; in English where the language has none."""
        found, n = self.texts.get(english, english), values.get("n")
        if isinstance(found, str):
            return found
        return found.get(self.form(n) if isinstance(n, int) else "other") or found["other"]

    def number(self, english: str) -> str:
        """Rewrite a number that is written in English."""
        return english.translate({ord(","): self.thousands, ord("."): self.decimal})


ENGLISH = Language()


class Phrase:
    """Hold an English template with {names}, and a value for each name.

    A language's catalogue is keyed by the template, as with gettext. Numbers stay numbers until
    the phrase is rendered, because languages write them differently. A text that came from a
    person or from another program is a plain `str`, and no language changes it.

    >>> phrase = Phrase("{n} samples, found {found}.", n=1200, found=Phrase("none"))
    >>> str(phrase)
    '1,200 samples, found none.'
    >>> phrase.render(Language({"{n} samples, found {found}.": "{n} Proben: {found}."}, "."))
    '1.200 Proben: none.'
    """

    __slots__ = ("template", "values")

    def __init__(self, template: str, /, **values: Value) -> None:
        if any(f"{{{name}}}" not in template for name in values):
            check_keywords("Phrase", values, NAME.findall(template))
        self.template = template
        self.values: Mapping[str, Value] = values

    def __str__(self) -> str:
        return self.render(ENGLISH)

    def __repr__(self) -> str:
        values = "".join(f", {name}={value!r}" for name, value in self.values.items())
        return f"Phrase({self.template!r}{values})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Phrase):
            return NotImplemented
        return (self.template, self.values) == (other.template, other.values)

    def __hash__(self) -> int:
        return hash((self.template, tuple(self.values.items())))

    def render(self, language: Language) -> str:
        """Write the phrase in a language."""

        def write(value: Value) -> str:
            if isinstance(value, Phrase):
                return value.render(language)
            if isinstance(value, str) and not isinstance(value, Number):
                return value
            return language.number(written(value))

        template = language.template(self.template, self.values)
        if not self.values:
            return template
        return template.format(**{name: write(value) for name, value in self.values.items()})

    def __bool__(self) -> bool:
        return bool(self.template)

    @property
    def document(self) -> dict[str, Any]:
        """Return the phrase as JSON carries it: `{"template": …, "values": {…}}`."""
        values = {name: _plain_data(value) for name, value in self.values.items()}
        return {"template": self.template, "values": values}


class PlainText(Phrase):
    """Hold a text without a template, such as a text from elsewhere: no language changes it."""

    __slots__ = ()

    def render(self, language: Language) -> str:
        return self.template


def join_phrases(parts: Iterable[Value], separator: str) -> Phrase:
    """Write phrases one after the other. The template has no words, so no language needs it.

    >>> str(join_phrases([Phrase("{n} samples", n=1200), "sent"], "; "))
    '1,200 samples; sent'
    """
    values = {f"part{place}": part for place, part in enumerate(parts, 1)}
    match list(values.values()):
        case [Phrase() as only]:
            return only
    return Phrase(separator.join(f"{{{name}}}" for name in values), **values)


def read_phrase(document: object, deepest: int = DEEPEST) -> Phrase | None:
    """Read what `Phrase.document` wrote; None if it is something else.

    A template from elsewhere may hold only plain {names}, each once and with a value: Python's
    format language could read attributes or fill the memory.

    >>> read_phrase({"template": "{n} samples", "values": {"n": 3}})
    Phrase('{n} samples', n=3)
    >>> read_phrase({"template": "{n.__class__}", "values": {"n": 3}}) is None
    True
    """
    match document:
        case {"template": str(template), "values": dict(given), **rest} if not rest and deepest:
            values = {name: _read_value(value, deepest - 1) for name, value in given.items()}
        case _:
            return None
    known = {name: value for name, value in values.items() if value is not None}
    fits = len(template) <= LONGEST and len(known) == len(values)
    return Phrase(template, **known) if fits and _may_be_filled(template, known) else None


def _read_value(value: object, deepest: int) -> Value | None:
    match value:
        case bool():
            return None
        case str():
            return value if len(value) <= LONGEST else None
        case int() | float():
            return value if abs(value) < LARGEST else None
    return read_phrase(value, deepest)


def _may_be_filled(template: str, values: Mapping[str, Value]) -> bool:
    """Require each name once, so that nested phrases cannot multiply, and no other brace."""
    rest = NAME.sub("", template)
    once = sorted(NAME.findall(template)) == sorted(values)
    return not values or (once and "{" not in rest and "}" not in rest)


def _plain_data(value: Value) -> Any:
    """Return the value as JSON has it, which knows neither `Number` nor infinity."""
    if isinstance(value, Phrase) and not isinstance(value, PlainText):
        return value.document
    if isinstance(value, str | PlainText):
        return str(value)
    return value if math.isfinite(value) else str(written(value))


def written(number: str | float) -> Number:
    """Write a number in English, as `phrase.js` does.

    Whole numbers have groups of three digits. Other numbers have six digits; very small and very
    large numbers have an exponent.

    >>> written(12345), written(0.25), written(1234567.8), written(1e-9), written(float("inf"))
    ('12,345', '0.25', '1,234,570', '1e-9', '∞')
    """
    if isinstance(number, str):
        return Number(number)
    if isinstance(number, int):
        return Number(f"{number:,}")
    if not math.isfinite(number):
        return Number(f"{number}".replace("inf", "∞"))
    digits = SIX_DIGITS.create_decimal(repr(number)).normalize()
    exponent = digits.adjusted()
    if -7 < exponent < 21:
        return Number(f"{digits:,f}")
    return Number(f"{digits.scaleb(-exponent):f}e{exponent:+d}")

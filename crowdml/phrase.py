"""A sentence as an English template and its values, so that any language can write it."""

import math
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias, Union

__all__ = ["Number", "Phrase", "Value", "written"]


class Number(str):
    """A number that is already written in English, such as `"1,024"` or `"99.97"`."""

    __slots__ = ()


Value: TypeAlias = Union[str, int, float, "Phrase"]


class Phrase:
    """An English template with {names}, and a value for each of them.

    A language's catalogue is keyed by the template, as with gettext. Numbers stay numbers until
    the phrase is rendered, because languages write them differently. A text that came from a
    person or from another program is a plain `str`, and no language changes it.

    >>> phrase = Phrase("{n} samples, found {found}.", n=1200, found=Phrase("none"))
    >>> str(phrase)
    '1,200 samples, found none.'
    >>> phrase.render({"{n} samples, found {found}.": "{n} Proben: {found}."}.get, str.lower)
    '1,200 Proben: none.'
    """

    __slots__ = ("template", "values")

    def __init__(self, template: str, /, **values: Value) -> None:
        self.template = template
        self.values: Mapping[str, Value] = values

    def __str__(self) -> str:
        return self.render(lambda template: template, lambda number: number)

    def __repr__(self) -> str:
        values = "".join(f", {name}={value!r}" for name, value in self.values.items())
        return f"Phrase({self.template!r}{values})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Phrase):
            return NotImplemented
        return (self.template, self.values) == (other.template, other.values)

    def __hash__(self) -> int:
        return hash((self.template, tuple(self.values.items())))

    def render(self, translate: Callable[[str], str | None], localize: Callable[[str], str]) -> str:
        """Write the phrase in another language.

        Args:
            translate: Returns the template in that language; None keeps the English one.
            localize: Rewrites a number that is written in English.
        """

        def write(value: Value) -> str:
            if isinstance(value, Phrase):
                return value.render(translate, localize)
            if isinstance(value, str) and not isinstance(value, Number):
                return value
            return localize(written(value))

        template = translate(self.template) or self.template
        if not self.values:
            return template
        return template.format(**{name: write(value) for name, value in self.values.items()})

    def __bool__(self) -> bool:
        return bool(self.template)

    @property
    def document(self) -> dict[str, Any]:
        """The phrase as JSON carries it: `{"template": …, "values": {…}}`."""
        values = {
            name: value.document if isinstance(value, Phrase) else value
            for name, value in self.values.items()
        }
        return {"template": self.template, "values": values}


def written(number: str | float) -> Number:
    """Write a number in English: whole numbers in groups of three digits, others in six digits.

    >>> written(12345), written(0.25), written(float("inf"))
    ('12,345', '0.25', '∞')
    """
    if isinstance(number, str):
        return Number(number)
    if isinstance(number, int):
        return Number(f"{number:,}")
    return Number("∞" if math.isinf(number) else f"{number:g}")

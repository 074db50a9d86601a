"""Sentences that come from below the pages, in the reader's language.

Rules of a task file and the log of actions are English where they are made. Here they are matched
with the texts of a catalogue's `below.toml`, whose {names} stand for anything.
"""

import re
from functools import cache

from crowdml.portal.language import catalogue, language
from crowdml.portal.words import local

__all__ = ["rephrased"]

NUMBER = re.compile(r"\d[\d,]*(\.\d+)?")


def rephrased(text: str) -> str:
    """The text in the language of the moment; where it has no line, as it is.

    >>> from crowdml.portal.language import speaking
    >>> with speaking("de"):
    ...     rephrased("must be a whole number from 1 to 100,000")
    'muss eine ganze Zahl von 1 bis 100.000 sein'
    """
    if NUMBER.fullmatch(text):
        return local(text)
    for pattern, said in _patterns(language()):
        if found := pattern.fullmatch(text):
            values = {name: rephrased(value) for name, value in found.groupdict().items()}
            return said.format(**values)
    return text


@cache
def _patterns(name: str) -> list[tuple[re.Pattern[str], str]]:
    """Those that leave least open come first."""
    known = catalogue(name, "below")
    return [
        (re.compile(_expression(text), re.DOTALL), known[text])
        for text in sorted(known, key=lambda text: (text.count("{"), -len(text)))
    ]


def _expression(text: str) -> str:
    return re.sub(r"\\\{(\w+)\\\}", r"(?P<\1>.+?)", re.escape(text))

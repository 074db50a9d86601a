"""The language of a page: English texts are their own keys, other languages are catalogues of them.

A catalogue is a folder `languages/<language>/` of TOML files, each with lines
`"English text" = "the same in that language"`. A text without a line stays English. Templates of
phrases, which are made below the pages, are in the files that `PHRASES` names.
"""

import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from pathlib import Path

from markupsafe import Markup
from starlette.requests import Request

from crowdml.phrase import Phrase, Value, joined

__all__ = [
    "LANGUAGES",
    "catalogue",
    "in_language",
    "language",
    "local",
    "preferred",
    "say",
    "say_html",
    "speaking",
]

FOLDER = Path(__file__).with_name("languages")
ENGLISH = "en"
LANGUAGES = (ENGLISH, *sorted(folder.name for folder in FOLDER.iterdir() if folder.is_dir()))
SWAPPED = str.maketrans(",.", ".,")
"""What separates thousands and decimals, for languages that write them the other way round."""

PHRASES = ("below", "problems", "promise")
"""The files for phrases, made below the pages. Short words mean other things elsewhere."""

_language = ContextVar("language", default=ENGLISH)


def say(text: str | Phrase, **values: object) -> str:
    """A text in the language of the moment, with its {names} replaced.

    A phrase has its values already, and its numbers are written as the language does.

    >>> with speaking("de"):
    ...     say("Page {page} of {pages}", page=2, pages=3)
    ...     say(Phrase("{n} devices had joined", n=1200))
    'Seite 2 von 3'
    '1.200 Geräte waren beigetreten'
    """
    if isinstance(text, Phrase):
        return text.render(catalogue(language(), *PHRASES).get, local)
    found = catalogue(language()).get(text, text)
    return found.format(**values) if values else found


def say_html(text: str, **values: object) -> Markup:
    """The same for templates: the text may have tags, and the values are escaped."""
    return Markup(say(text)).format(**values)  # noqa: S704 the texts are our own


def in_language(value: Value) -> str:
    """A phrase or a number in the language of the moment; a plain text as it is."""
    return value if isinstance(value, str) else say(joined([value], ""))


def local(number: str) -> str:
    """A number as the reader's language writes it.

    >>> with speaking("de"):
    ...     local("12,345.6")
    '12.345,6'
    """
    return number if language() == ENGLISH else number.translate(SWAPPED)


def language() -> str:
    return _language.get()


@contextmanager
def speaking(wanted: str) -> Iterator[None]:
    before = _language.set(wanted)
    try:
        yield
    finally:
        _language.reset(before)


def preferred(request: Request) -> str:
    """The first of our languages that the reader's browser asks for, English if there is none."""
    return choose(request.headers.get("accept-language", ""))


def choose(header: str) -> str:
    """
    >>> choose("fr, de-AT;q=0.8, en;q=0.9"), choose("de-CH"), choose("fr;q=x, *"), choose("")
    ('en', 'de', 'en', 'en')
    """
    wishes = [(_weight(wish), wish.partition(";")[0].strip()) for wish in header[:500].split(",")]
    for _, wish in sorted(wishes, key=lambda pair: -pair[0]):
        name = wish.partition("-")[0].lower()
        if name in LANGUAGES:
            return name
    return ENGLISH


def _weight(wish: str) -> float:
    try:
        return float(wish.partition(";q=")[2] or 1)
    except ValueError:
        return 0.0


@cache
def catalogue(name: str, *parts: str) -> dict[str, str]:
    """The texts of a language, or those of some of its files; English has none."""
    files = [
        file for part in parts or ["*"] for file in sorted((FOLDER / name).glob(f"{part}.toml"))
    ]
    return {key: text for file in files for key, text in tomllib.loads(file.read_text()).items()}

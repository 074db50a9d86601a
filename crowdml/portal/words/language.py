"""Write pages in the reader's language: English texts are the keys of the other catalogues.

A catalogue is a folder `languages/<language>/` of TOML files, each with lines
`"English text" = "the same in that language"`. A text without a line stays English. Where the words
depend on the whole number n, a line has a table: `{ one = "…", other = "…" }`, with the names that
CLDR gives to the forms. `languages/<language>.toml` says how the language writes numbers. Templates
of phrases, which are made below the pages, are in the files that `PHRASES` names.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from gettext import c2py
from pathlib import Path
from string import Formatter
from typing import Any

from markupsafe import Markup
from starlette.requests import Request

from crowdml.keywords import check_keywords
from crowdml.phrase import Language, Phrase, Value, join_phrases

FOLDER = Path(__file__).parents[1] / "languages"
ENGLISH = "en"
LANGUAGES = tuple(sorted(file.stem for file in FOLDER.glob("*.toml")))
PHRASES = ("below", "numbers", "pilot", "problems", "promise", "sensors")
"""The files with templates of phrases: on pages, their short words have other meanings."""

_language = ContextVar("language", default=ENGLISH)

NBSP = "\N{NO-BREAK SPACE}"
"""A no-break space, which keeps a number and its sign on one line."""

TOGETHER = [(words, words.replace(" ", NBSP)) for words in (" %", " ±", "± ", "ε = ", " →")]
TOGETHER.append(("SHA-256", "SHA\N{NON-BREAKING HYPHEN}256"))


def say(text: str | Phrase, **values: Value) -> str:
    """Write a text in the current language, with its {names} replaced.

    Numbers follow the rules of the language. A phrase already contains its values.

    >>> with use_language("de"):
    ...     say("Page {page} of {pages}", page=2, pages=3)
    ...     say(Phrase("{n} devices had joined", n=1200))
    'Seite 2 von 3'
    '1.200 Geräte waren beigetreten'
    """
    if isinstance(text, Phrase):
        check_keywords("say", values, ())
        return unbroken(text.render(_spoken(current_language(), *PHRASES)))
    return unbroken(Phrase(text, **values).render(_spoken(current_language())))


def unbroken(text: str) -> str:
    r"""Keep numbers and their signs on one line, and the name of a hash.

    >>> unbroken("21 ± 3 of 50 %, ε = 4")
    '21\xa0±\xa03 of 50\xa0%, ε\xa0=\xa04'
    >>> ascii(unbroken("SHA-256"))
    "'SHA\\u2011256'"
    """
    for broken, kept in TOGETHER:
        text = text.replace(broken, kept)
    return text


def say_html(text: str, **values: object) -> Markup:
    """Write a text for a template: the text may contain tags, and the values are escaped."""
    check_keywords("say_html", values, (part[1] or "" for part in Formatter().parse(text)))
    return Markup(say(text)).format(**values)  # noqa: S704 the texts are our own


def in_language(value: Value) -> str:
    """Write a phrase or a number in the current language; leave a plain text as it is."""
    return value if isinstance(value, str) else say(join_phrases([value], ""))


def localize_number(number: str) -> str:
    """Write a number as the reader's language does.

    >>> with use_language("de"):
    ...     localize_number("12,345.6")
    '12.345,6'
    """
    return _spoken(current_language()).number(number)


def plain_number(typed: str) -> str | None:
    """Rewrite a number that was typed as the reader's language writes it, as Python writes it.

    None if another language would read another number: where a point separates thousands, "1.000"
    may mean a thousand or one. Other texts stay as they are.

    >>> plain_number("1,000"), plain_number("0.15"), plain_number("1.000"), plain_number("many")
    ('1000', '0.15', '1.000', 'many')
    >>> with use_language("de"):
    ...     [plain_number(text) for text in ("0,15", "0.15", "1.000,5", "1.000.000", "1.000")]
    ['0.15', '0.15', '1000.5', '1000000', None]
    """
    here = _spoken(current_language())
    thousands, decimal = re.escape(here.thousands), re.escape(here.decimal)
    if here.thousands == "." and re.fullmatch(r"[+-]?[1-9]\d{0,2}\.\d{3}", typed):
        return None
    if re.fullmatch(rf"[+-]?[1-9]\d{{0,2}}({thousands}\d{{3}})+({decimal}\d+)?", typed):
        typed = typed.replace(here.thousands, "")
    elif here.thousands in typed:
        return typed
    return typed.replace(here.decimal, ".")


def current_language() -> str:
    return _language.get()


@contextmanager
def use_language(wanted: str) -> Iterator[None]:
    before = _language.set(wanted)
    try:
        yield
    finally:
        _language.reset(before)


def preferred_language(request: Request) -> str:
    """Return the available language that the reader's browser prefers; English if there is none."""
    return choose(request.headers.get("accept-language", ""))


def choose(header: str) -> str:
    """Choose a language by an Accept-Language header.

    >>> choose("fr, de-AT;q=0.8, en;q=0.9"), choose("de-CH"), choose("fr;q=x, *"), choose("")
    ('en', 'de', 'en', 'en')
    """
    ranges = [
        (_weight(wanted), wanted.partition(";")[0].strip()) for wanted in header[:500].split(",")
    ]
    for _, wanted in sorted(ranges, key=lambda pair: -pair[0]):
        name = wanted.partition("-")[0].lower()
        if name in LANGUAGES:
            return name
    return ENGLISH


def _weight(wanted: str) -> float:
    try:
        return float(wanted.partition(";q=")[2] or 1)
    except ValueError:
        return 0.0


@cache
def _spoken(name: str, *parts: str) -> Language:
    rules = tomllib.loads((FOLDER / f"{name}.toml").read_text())
    return numbers(rules)._replace(texts=catalogue(name, *parts))


def numbers(rules: Mapping[str, Any]) -> Language:
    """Make a language without texts from the rules in `languages/<language>.toml`.

    >>> french = {"thousands": " ", "decimal": ",", "plural": "n > 1", "forms": ["one", "other"]}
    >>> numbers(french).number("1,234.5"), numbers(french).form(0)
    ('1 234,5', 'one')
    """
    place, forms = c2py(rules["plural"]), rules["forms"]
    return Language({}, rules["thousands"], rules["decimal"], lambda n: forms[place(abs(n))])


@cache
def catalogue(name: str, *parts: str) -> dict[str, Any]:
    """Return the texts of a language, or of some of its files; English has none."""
    files = [
        file for part in parts or ["*"] for file in sorted((FOLDER / name).glob(f"{part}.toml"))
    ]
    return {key: text for file in files for key, text in tomllib.loads(file.read_text()).items()}

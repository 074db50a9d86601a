"""Make every character visible that could hide or reorder others in a text from elsewhere."""

import json
from collections.abc import Callable

__all__ = ["visible", "visible_json"]


def visible(text: object) -> str:
    r"""Show controls, line breaks and direction marks in a value, or in a line with values.

    A terminal obeys such characters, so they could conceal what a person agrees to. A no-break
    space becomes a space.

    >>> visible("ε = 9\x1b[8m\n\u202e"), visible("12\xa0%")
    ('ε = 9\\x1b[8m\\n\\u202e', '12 %')
    """
    return _spelt(str(text).replace("\xa0", " "), lambda c: ascii(c)[1:-1])


def visible_json(document: str) -> str:
    r"""Make such characters visible in a JSON document, and put it on one line.

    >>> visible_json('{"a": "\x9b"}')
    '{"a": "\\u009b"}'
    """
    return _spelt(document, lambda c: json.dumps(c)[1:-1])


def _spelt(text: str, spell: Callable[[str], str]) -> str:
    return text if text.isprintable() else "".join(c if c.isprintable() else spell(c) for c in text)

"""Texts from elsewhere, with every character that could hide or reorder others made visible."""

import json
from collections.abc import Callable

__all__ = ["visible", "visible_json"]


def visible(text: object) -> str:
    r"""A value, or a line with values in it: controls, line breaks and marks of direction shown.

    A terminal obeys such characters, so they could conceal what a person agrees to.

    >>> visible("ε = 9\x1b[8m\n\u202e")
    'ε = 9\\x1b[8m\\n\\u202e'
    """
    return _spelt(str(text), lambda c: ascii(c)[1:-1])


def visible_json(document: str) -> str:
    r"""The same document on one line: JSON may have such characters in strings, as they are.

    >>> visible_json('{"a": "\x9b"}')
    '{"a": "\\u009b"}'
    """
    return _spelt(document, lambda c: json.dumps(c)[1:-1])


def _spelt(text: str, spell: Callable[[str], str]) -> str:
    return text if text.isprintable() else "".join(c if c.isprintable() else spell(c) for c in text)

"""Read options with several values, such as `1,10,20`, as a plan file has them."""

from contextlib import suppress
from typing import Any


def parse_values(text: str) -> list[Any]:
    """Split a text at its commas; a part that is not a number stays a text.

    >>> parse_values("1,0.5,inf, auto")
    [1, 0.5, inf, 'auto']
    """
    return list(dict.fromkeys(map(_value, text.split(","))))


def _value(text: str) -> float | str:
    for kind in (int, float):
        with suppress(ValueError):
            return kind(text)
    return text.strip()

"""Reject keywords that a function does not know, and name the nearest known one."""

import difflib
from collections.abc import Iterable

__all__ = ["check_keywords"]


def check_keywords(function: str, given: Iterable[str], known: Iterable[str]) -> None:
    """Raise `TypeError` for a keyword that a function with `**` does not know.

    Without this check, a misspelt limit on ε would be ignored.

    >>> check_keywords("join", ["limit"], ["invite", "limits"])
    Traceback (most recent call last):
    TypeError: join() has no keyword 'limit'. Did you mean 'limits'?
    """
    names = sorted(known)
    for name in given:
        if name not in names:
            nearest = difflib.get_close_matches(name, names, n=1, cutoff=0.0)
            hint = f" Did you mean {nearest[0]!r}?" if nearest else " It has none."
            raise TypeError(f"{function}() has no keyword {name!r}.{hint}")

"""Match columns by name, and word the error when a name is missing or misspelt."""

import difflib
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from crowdml.errors import InvalidInput
from crowdml.visible import visible

LONGEST_QUOTE = 40
"""Characters of a value that an error shows."""

MOST_NAMES = 10
"""Names that an error lists."""

UNIT = re.compile(r"(.*\S)\s*[\[(]([^\[\]()]*)[\])]")


def check_columns(names: Sequence[str], found: Iterable[object], extra: bool = True) -> str | None:
    """Return what is wrong with the names found, or None if nothing is.

    Args:
        names: The names of the columns that are needed.
        extra: Whether columns with other names may be there as well.

    >>> check_columns(["light", "temperature"], ["temprature", "light", "hour"])
    "'temperature' is missing, found 'temprature'. Did you mean 'temperature'?"
    >>> check_columns(["light"], ["light", "hour"], extra=False)
    "'hour' is not known. Known are 'light'."
    """
    present = [str(name) for name in found]
    missing = set(names).difference(present)
    first = next((name for name in names if name in missing), None)
    if first is not None:
        known = set(names)
        return missing_column(first, [name for name in present if name not in known])
    unknown = [] if extra else sorted(set(present).difference(names))
    if unknown:
        return f"{quoted(unknown[0])} is not known.{nearest_name(unknown[0], names)}"
    return None


def missing_column(name: str, others: Sequence[str]) -> str:
    """Say that a column is missing, and which of the others may be meant.

    >>> missing_column("hours", [])
    "'hours' is missing."
    """
    meant = difflib.get_close_matches(name, others, n=1)
    if meant:
        said = f"{quoted(name)} is missing, found {quoted(meant[0])}. Did you mean {quoted(name)}?"
    else:
        said = f"{quoted(name)} is missing"
        said += f", found {_list(others)}." if others else "."
    return said


def split_unit(header: str) -> tuple[str, str]:
    """Return the name and the unit in a column's header; the unit is empty where there is none.

    >>> split_unit("temperature [°C]"), split_unit("light (lux)"), split_unit("hour")
    (('temperature', '°C'), ('light', 'lux'), ('hour', ''))
    """
    found = UNIT.fullmatch(header.strip())
    return (found[1], found[2].strip()) if found else (header.strip(), "")


def quoted(value: object) -> str:
    """Shorten a value to a few words, as errors show it."""
    text = visible(repr(value))
    return text if len(text) <= LONGEST_QUOTE else f"{text[:LONGEST_QUOTE]}…"


def check_kind(name: str, value: object, kind: type | tuple[type, ...], words: str) -> None:
    """Raise `InvalidInput` for an argument of another type; True does not count as a number.

    >>> check_kind("url", 5, str, "a text")
    Traceback (most recent call last):
    crowdml.errors.InvalidInput: url must be a text, found 5.
    """
    kinds = kind if isinstance(kind, tuple) else (kind,)
    if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
        raise InvalidInput(f"{name} must be {words}, found {quoted(value)}.")
    if isinstance(value, str | Path) and "\0" in str(value):
        raise InvalidInput(f"{name} must not have a null character, found {quoted(str(value))}.")


def nearest_name(name: str, names: Sequence[str]) -> str:
    """Return what to add to an error about an unknown name: the one that is meant, or all.

    >>> nearest_name("votes", ["vote", "light"])
    " Did you mean 'vote'?"
    """
    meant = difflib.get_close_matches(name, names, n=1)
    return f" Did you mean {quoted(meant[0])}?" if meant else f" Known are {_list(names)}."


def _list(names: Sequence[str]) -> str:
    more = ["…"] if len(names) > MOST_NAMES else []
    return ", ".join([*map(quoted, names[:MOST_NAMES]), *more])

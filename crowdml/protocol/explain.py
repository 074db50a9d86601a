"""Clear errors for wrong fields: the rule, the value found, what to do."""

import re
from typing import Any

import msgspec

__all__ = ["explain"]


def explain(error: msgspec.ValidationError, document: Any) -> str:
    """One sentence for people from a validation error and the document that caused it.

    >>> class Box(msgspec.Struct):
    ...     width: int
    >>> document = {"width": "wide"}
    >>> try:
    ...     msgspec.convert(document, Box)
    ... except msgspec.ValidationError as error:
    ...     print(explain(error, document))
    width: expected `int`, got `str`, found "wide".
    """
    rule, _, path = str(error).partition(" - at `")
    path = path.rstrip("`").removeprefix("$").removeprefix(".")
    rule = rule[:1].lower() + rule[1:].rstrip(".")
    found = _find(document, path)
    shown = f", found {_show(found)}" if "found" not in rule and _scalar(found) else ""
    return f"{path + ': ' if path else ''}{rule}{shown}."


def _find(document: Any, path: str) -> Any:
    """Follow a path such as `privacy.epsilon` or `labels[2]`."""
    for name, index in re.findall(r"(\w+)|\[(\d+)\]", path):
        try:
            document = document[name] if name else document[int(index)]
        except (KeyError, IndexError, TypeError):
            return None
    return document


def _scalar(value: Any) -> bool:
    return isinstance(value, str | int | float | bool)


def _show(value: Any) -> str:
    text = f'"{value}"' if isinstance(value, str) else str(value)
    return text if len(text) <= 60 else text[:57] + "…"

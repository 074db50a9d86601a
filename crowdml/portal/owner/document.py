"""From a form to a task file and from its errors back to the form's fields."""

import json
import re

from crowdml.portal.owner.fields import FIELDS, Field, Kind
from crowdml.portal.owner.posted import Posted

__all__ = ["field_of", "task_toml"]

REQUIRED = ("features", "target", "model", "privacy", "collection")
SPECIAL: dict[str, str] = {
    "a model may have": "features.count",
    "epsilon for the": "privacy.epsilon",
    "there is a task": "name",
}
"""Sentences that name no field, by their first words."""


def task_toml(posted: Posted) -> str:
    """The task file that says what the form says, so that one set of rules judges both.

    Fields left empty are left out; the tables that every task file has are there even if empty,
    so that an error names the missing field and not its whole table.

    >>> print(task_toml({"name": "steps", "privacy.epsilon": "1.0", "target.labels": "a\\n b "}))
    name = "steps"
    [features]
    [target]
    labels = ["a", "b"]
    [model]
    [privacy]
    epsilon = 1.0
    [collection]
    """
    tables: dict[str, list[str]] = {"": []}
    for key, field in FIELDS.items():
        value = _toml_value(field, posted.get(key, ""))
        table, _, name = key.rpartition(".")
        if table in REQUIRED or value is not None:
            tables.setdefault(table, [])
        if value is not None:
            tables[table].append(f"{name} = {value}")
    lines = tables.pop("")
    for table, entries in tables.items():
        lines += [f"[{table}]", *entries]
    return "\n".join(lines)


def _toml_value(field: Field, text: str) -> str | None:
    text = text.strip()
    if not text:
        return None
    match field.kind:
        case Kind.CHECK:
            return "true"
        case Kind.LINES:
            lines = (line.strip() for line in text.splitlines())
            return f"[{', '.join(_quoted(line) for line in lines if line)}]"
        case Kind.NUMBER:
            return _number(text)
        case _:
            return _quoted(text)


def _number(text: str) -> str:
    """A number, or as text whatever is none: the rules then say what was expected.

    >>> _number("052"), _number("1e-7"), _number("inf"), _number("many")
    ('52', '1e-07', 'inf', '"many"')
    """
    for kind in (int, float):
        try:
            return repr(kind(text))
        except ValueError:
            continue
    return _quoted(text)


def _quoted(text: str) -> str:
    """A TOML string; JSON's escapes are TOML's, but for the one control character it lets pass."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def field_of(sentence: str) -> str | None:
    """Which field of the form an error is about.

    >>> field_of("privacy.epsilon: expected `float` > 0.0, found -1.0. Use inf for no noise.")
    'privacy.epsilon'
    >>> field_of("features: object missing required field `count`. Add it.")
    'features.count'
    >>> field_of("epsilon for the gradient must lie in 1e-06 … 1e+06, found 9e-07.")
    'privacy.epsilon'
    """
    for start, key in SPECIAL.items():
        if sentence.startswith(start):
            return key
    table = re.match(r"([\w.]+)(\[\d+\])*: ", sentence)
    inside = f"{table[1]}." if table else ""
    named: list[str] = re.findall(r"\w+(?:\.\w+)*", sentence)
    for word in named:
        for key in (inside + word, word):
            if key in FIELDS:
                return key
    return None

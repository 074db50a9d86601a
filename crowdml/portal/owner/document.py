"""From a form to a task file."""

import json

from crowdml.portal.owner.field import Field, Kind
from crowdml.portal.owner.fields import FIELDS
from crowdml.portal.owner.posted import Posted

__all__ = ["task_toml"]


def task_toml(posted: Posted) -> str:
    """The task file that says what the form says, so that one set of rules judges both.

    Fields left empty are left out.

    >>> print(task_toml({"name": "steps", "privacy.epsilon": "1.0", "target.labels": "a\\n b "}))
    name = "steps"
    [target]
    labels = ["a", "b"]
    [privacy]
    epsilon = 1.0
    """
    tables: dict[str, list[str]] = {"": []}
    for key, field in FIELDS.items():
        value = _toml_value(field, posted.get(key, ""))
        table, _, name = key.rpartition(".")
        if value is not None:
            tables.setdefault(table, []).append(f"{name} = {value}")
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

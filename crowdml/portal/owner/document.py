"""From a form to a task file."""

import json
import re
import unicodedata

from crowdml.portal.owner.field import TASK_FILE, Field, Kind
from crowdml.portal.owner.fields import FIELDS
from crowdml.portal.owner.posted import Posted

__all__ = ["task_toml", "toml_value"]


def task_toml(posted: Posted) -> str:
    """The task file that says what the form says, so that one set of rules judges both.

    Fields left empty are left out, but for those that follow from others.

    >>> print(task_toml({"name": "steps", "privacy.epsilon": "1.0", "target.labels": "a\\n b "}))
    name = "steps"
    [target]
    labels = ["a", "b"]
    [model]
    kind = "softmax"
    [privacy]
    epsilon = 1.0
    """
    tables: dict[str, list[str]] = {"": []}
    said = {key: text for key, text in posted.items() if text.strip()}
    said = _following(said) | said
    for key in TASK_FILE:
        value = toml_value(FIELDS[key], said.get(key, ""))
        table, _, name = key.rpartition(".")
        if value is not None:
            tables.setdefault(table, []).append(f"{name} = {value}")
    lines = tables.pop("")
    for table, entries in tables.items():
        lines += [f"[{table}]", *entries]
    return "\n".join(lines)


def _following(said: Posted) -> Posted:
    """What follows from the title, the sensor and the answer, where the form leaves it open."""
    follows = {"model.kind": "softmax" if "target.labels" in said else "huber"}
    if "title" in said:
        follows["name"] = _name(said["title"])
    kind = said.get("features.sensor.kind")
    if kind is None:
        return follows
    if kind == "manual":
        follows["features.sensor.transform"] = "values"
    transform = (follows | said).get("features.sensor.transform", "spectrum")
    if transform == "values":
        lines = said.get("features.sensor.fields", "").splitlines()
        count = max(1, sum(1 for line in lines if line.strip()))
    else:
        window = said.get("features.sensor.window", "64")
        count = 4 if transform == "summary" else int(window) // 2 + 1 if window.isdecimal() else 33
    if kind == "motion" and transform == "spectrum":
        follows["features.sensor.first_bin"] = "0.1"
    return follows | {"features.count": str(count)}


def _name(title: str) -> str:
    """
    >>> _name(" How warm is it, Zoë? "), _name("3 × täglich"), _name("走る")
    ('how-warm-is-it-zoe', '3-taglich', '')
    """
    plain = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode().lower()
    return "-".join(re.findall("[a-z0-9]+", plain))[:40].rstrip("-")


def toml_value(field: Field, text: str) -> str | None:
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

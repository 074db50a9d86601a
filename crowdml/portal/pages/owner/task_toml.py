"""Write a form as a task file."""

import re
import unicodedata

from crowdml.portal.pages.owner.field import TASK_FILE, Field, InputKind
from crowdml.portal.pages.owner.fields import FIELDS
from crowdml.portal.pages.owner.form_parsing import FormFields
from crowdml.portal.words import plain_number
from crowdml.protocol import SENSORS, TomlValue, features_made, set_fields


def task_toml(posted: FormFields) -> str:
    """Write a form as a task file, so that one set of rules checks both.

    Empty fields are left out, unless they follow from others.

    >>> print(task_toml({"name": "steps", "privacy.epsilon": "1.0", "target.labels": "a\\n b "}))
    name = "steps"
    <BLANKLINE>
    [target]
    labels = ["a", "b"]
    <BLANKLINE>
    [model]
    kind = "softmax"
    <BLANKLINE>
    [privacy]
    epsilon = 1.0
    <BLANKLINE>
    """
    said = {key: text for key, text in posted.items() if text.strip()}
    said = _derived_fields(said) | said
    return set_fields("", {key: field_value(FIELDS[key], said.get(key, "")) for key in TASK_FILE})


def _derived_fields(said: FormFields) -> FormFields:
    """Return the fields that follow from the title, the sensor and the answer."""
    follows = {"model.kind": "softmax" if "target.labels" in said else "huber"}
    if "title" in said:
        follows["name"] = _name(said["title"])
    kind = said.get("features.sensor.kind")
    if kind is None:
        return follows
    sensor, usual = SENSORS.get(kind), TASK_FILE["features.sensor.window"].default
    if sensor and sensor.typed_in:
        follows["features.sensor.transform"] = "values"
    transform = (follows | said).get("features.sensor.transform", "spectrum")
    if sensor and transform == "spectrum":
        follows["features.sensor.first_bin"] = str(sensor.first_bin)
    fields = [line for line in said.get("features.sensor.fields", "").splitlines() if line.strip()]
    count, window = features_made(transform, len(fields)), said.get("features.sensor.window", "")
    if count is None:  # the upper half of a spectrum mirrors the lower half
        count = (int(window) if window.isdecimal() else usual) // 2 + 1
    return follows | {"features.count": str(max(1, count))}


def _name(title: str) -> str:
    """Make a task's name from its title.

    >>> _name(" How warm is it, Zoë? "), _name("3 × täglich"), _name("走る")
    ('how-warm-is-it-zoe', '3-taglich', '')
    """
    plain = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode().lower()
    return "-".join(re.findall("[a-z0-9]+", plain))[:40].rstrip("-")


def field_value(field: Field, text: str) -> TomlValue | None:
    """Convert what was typed into a field to a TOML value; None if nothing was typed."""
    text = text.strip()
    if not text:
        return None
    match field.kind:
        case InputKind.CHECK:
            return True
        case InputKind.LINES:
            return _lines(text)
        case InputKind.NUMBERS:
            return [_number(line) for line in _lines(text)]
        case InputKind.NUMBER:
            return _number(text)
        case _:
            return text


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]


def _number(text: str) -> float | str:
    """Read a number; other text, and an ambiguous one, stays, and the rules then reject it.

    >>> _number("052"), _number("1e-7"), _number("inf"), _number("many")
    (52, 1e-07, inf, 'many')
    """
    plain = plain_number(text)
    if plain is None:
        return text
    for kind in (int, float):
        try:
            return kind(plain)
        except ValueError:
            continue
    return text

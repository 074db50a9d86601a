"""Changing single fields of a task file, with all that people wrote around them left as it is."""

import json
import re
from collections.abc import Mapping

__all__ = ["set_fields"]


def set_fields(text: str, values: Mapping[str, str | float | None]) -> str:
    r"""The text with these fields set, by places such as `privacy.epsilon`; None takes one out.

    A field that stands on a line of its own is changed there; another is added to its table, or
    with a table of its own at the end.

    >>> print(set_fields('[stop]\nupdates = 5  # few\n', {"stop.updates": 9, "model.clip": None}))
    [stop]
    updates = 9  # few
    <BLANKLINE>
    """
    for place, value in values.items():
        text = _set(text, place, value)
    return text


def _set(text: str, place: str, value: str | float | None) -> str:
    table, _, name = place.rpartition(".")
    lines, inside, header = text.splitlines(), table == "", None
    for number, line in enumerate(lines):
        if found := re.match(r"\s*\[([\w.]+)\]", line):
            inside = found[1] == table
            header = number if inside else header
        elif inside and (
            own := re.match(rf"(\s*{re.escape(name)}\s*=\s*)([^#]*?)(\s*#.*)?$", line)
        ):
            if value is None:
                del lines[number]
            else:
                lines[number] = f"{own[1]}{_written(value)}{own[3] or ''}"
            return "\n".join(lines) + "\n"
    if value is not None:
        entry = f"{name} = {_written(value)}"
        if header is None:
            lines += ["", f"[{table}]", entry]
        else:
            lines.insert(header + 1, entry)
    return "\n".join(lines) + "\n"


def _written(value: str | float) -> str:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else str(value)

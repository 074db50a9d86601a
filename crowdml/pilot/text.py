"""Write the text of a task file that a pilot has filled in."""

import json
import textwrap
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from crowdml.protocol import PILOT_WORDS, TASK_HEAD, Features
from crowdml.visible import visible

if TYPE_CHECKING:
    from crowdml.pilot.draft import TaskDraft

LINE_WIDTH, COMMENT_COLUMN = 96, 28
"""Where lines are wrapped, and the column where comments begin."""

USUAL_RADIUS = 1000.0
"""The bound on ‖w‖ where a task file does not say."""

MOST_LINES = 50
"""Columns that are listed on a line each."""


def task_text(draft: "TaskDraft") -> str:
    """Write the task file of a draft, with comments that say where its numbers come from."""
    features, start = draft.features, draft.start
    pilot = f"a pilot of {start.rows:,} rows"
    if start.people is not None:
        pilot += f" of {start.people:,} {'person' if start.people == 1 else 'people'}"
    parts = [
        TASK_HEAD.format(name=draft.name, title=_string(draft.title)),
        "[features]",
        *_comment(
            [f"Readings in their own units. Their constants come from {pilot}. They are public."]
        ),
        f"description = {_string(features.description)}",
        *_names(features, draft.units),
        *_numbers("center", features.center, "The mean of each column."),
        *_numbers(
            "scale",
            features.scale,
            "The standard deviation of each column; a reading counts as at most 6 of them away.",
        ),
        _line("length", f"{features.length}", "nine of ten rows are no longer than this"),
    ]
    if features.missing == "center":
        parts.append(_line("missing", '"center"', "an empty value is taken to be the center"))
    parts += ["", "[target]", *_target(draft), "", "[model]", *_model(draft)]
    parts += ["", "[privacy]", *_comment(draft.epsilon_words)]
    parts.append(_line("epsilon", f"{draft.epsilon}", "what a person loses in total, at most"))
    parts += ["", "[collection]", _line("batch", f"{draft.batch}", draft.batch_words)]
    said = "how many check-ins you expect, within a factor of four"
    parts += ["", "[stop]", _line("updates", f"{draft.updates}", said)]
    return "\n".join(parts) + "\n"


def _names(features: Features, units: Sequence[str]) -> list[str]:
    names = features.names
    if not names:
        return [_line("count", f"{features.count}")]
    if len(names) > MOST_LINES or not any(units):
        return _wrapped("names", map(_string, names))
    lines = [f"    {_string(name)},".ljust(COMMENT_COLUMN - 1) for name in names]
    with_units = zip(lines, units, strict=True)
    return ["names = [", *(f"{line} # {visible(unit)}" if unit else line.rstrip()
                           for line, unit in with_units), "]"]  # fmt: skip


def _numbers(field: str, values: Sequence[float], said: str) -> list[str]:
    return [f"# {said}", *_wrapped(field, map(repr, values))]


def _target(draft: "TaskDraft") -> list[str]:
    if draft.start.labels:
        return ["# In order of frequency.", *_wrapped("labels", map(_string, draft.start.labels))]
    return [
        f"description = {_string(draft.target_name)}",
        _line("scale", f"{draft.start.scale_of_target}", "its usual distance from the median"),
    ]


def _model(draft: "TaskDraft") -> list[str]:
    start, (without, having) = draft.start, draft.errors
    said = f"the pilot's error is {having:.3f} with intercepts and {without:.3f} without"
    lines = [
        _line("kind", _string(start.kind)),
        _line("intercept", str(start.intercepts is not None).lower(), said),
    ]
    if not start.labels:
        lines.append(_line("delta", f"{start.scale_of_target}", "where the loss becomes linear"))
        lines.append(_line("tolerance", f"{draft.tolerance}", "a larger distance is an error"))
    if (length := float(np.linalg.norm(start.w))) > USUAL_RADIUS / 10:
        lines.append(_line("radius", f"{float(f'{10 * length:.0e}')}", "ten times the start's"))
    words = "where w starts; it is public once the task is created"
    return [*lines, _line("start", _string(draft.start_file), words),
            _line("pilot", _string(PILOT_WORDS))]  # fmt: skip


def _line(field: str, value: str, comment: str = "") -> str:
    line = f"{field} = {value}"
    return f"{line.ljust(COMMENT_COLUMN - 1)} # {comment}" if comment else line


def _comment(sentences: Iterable[str]) -> list[str]:
    return [line for each in sentences for line in textwrap.wrap(
        each, LINE_WIDTH, initial_indent="# ", subsequent_indent="# ")]  # fmt: skip


def _wrapped(field: str, items: Iterable[str]) -> list[str]:
    """Write a list on one line, or on several lines if it is long; never break an item."""
    items = list(items)
    line = f"{field} = [{', '.join(items)}]"
    if len(line) <= LINE_WIDTH:
        return [line]
    lines, row = [f"{field} = ["], ""
    for item in items:
        if row and len(row) + len(item) + 6 > LINE_WIDTH:
            lines.append(f"   {row}")
            row = ""
        row += f" {item},"
    return [*lines, f"   {row}", "]"]


def _string(text: str) -> str:
    """Write a text as TOML; JSON escapes everything that TOML must, except for one character."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")

"""Build the tutorial's task: what its pilot fills in, and what the reader writes."""

import tomllib
from contextlib import redirect_stdout
from io import StringIO
from typing import Any

from crowdml.pilot import draft_task
from crowdml.protocol import Task, set_fields
from tests.docs.pages import blocks, page
from tests.examples.module import load


def edited(text: str, block: str) -> str:
    """Return a task file in which the reader has written what a block says."""
    document = tomllib.loads(block)
    tables = {name: value for name, value in document.items() if isinstance(value, dict)}
    fields: dict[str, Any] = {name: document[name] for name in document.keys() - tables.keys()}
    for table, values in tables.items():
        fields |= {f"{table}.{name}": value for name, value in values.items()}
    return set_fields(text, fields)


def room_task() -> Task:
    """Return the task that the reader creates."""
    with redirect_stdout(StringIO()) as pilot:
        load("room").print_pilot()
    draft = draft_task("room", pilot.getvalue().encode(), "pilot.csv")
    (block,) = blocks(page("docs/tutorial.md"), "toml")
    return Task.from_toml(edited(draft.text, block), start=draft.start)

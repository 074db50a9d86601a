"""Read the start that a task file names: a file beside it, or the model of another task."""

import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

from crowdml.errors import InvalidInput
from crowdml.tables import read_file

if TYPE_CHECKING:
    from crowdml.protocol import Start, Task


def read_named_start(text: str, file: Path) -> "Start | None":
    """Read the start that a task file names; return None if it names none."""
    name = _named(text)
    if name is None:
        return None
    from crowdml.learnt import read_start, start_from_model

    if "://" in name:
        from crowdml.device import load_model

        return start_from_model(load_model(name))
    try:
        data = read_file(file.parent / name, f"model.start, {name},")
    except InvalidInput:
        raise
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", error)
        raise InvalidInput(
            f"model.start must be a file beside the task file, and {name} cannot be read: {why}."
        ) from error
    return read_start(data, name)


def _named(text: str) -> str | None:
    """Return the start that a task file names; other mistakes of the file are reported later."""
    try:
        name = tomllib.loads(text.removeprefix("\ufeff"))["model"]["start"]
    except (ValueError, RecursionError, KeyError, TypeError):
        return None
    return name if isinstance(name, str) and name else None


def about_start(task: "Task") -> list[str]:
    """Return what an owner should know about the start of a new task."""
    said = task.terms.model.start
    if said is None or task.start is None:
        return []
    lines = [str(said.phrase)]
    if said.rows is not None:
        lines.append(
            "The start is public from now on. It depends on the people of the pilot, whom this "
            "task's promise does not protect."
        )
    if task.reach_from_start is None and task.optimizer.planned and task.optimizer.reach is None:
        lines.append(
            "The start does not state its own uncertainty, so the task uses the default reach."
        )
    return lines

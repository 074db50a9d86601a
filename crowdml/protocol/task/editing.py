"""Change an existing task: its words for people and its end, nothing that is in the terms."""

from collections.abc import Mapping
from typing import Any

import msgspec

from crowdml.protocol.review import read
from crowdml.protocol.rules import RULES
from crowdml.protocol.task.task import Task
from crowdml.protocol.task.task_file import OptimizerSpec, Stop
from crowdml.protocol.task.task_rules import TASK_RULES
from crowdml.protocol.terms import LineText, Purpose

EDITABLE = ("title", "objective", "stop.updates", "stop.error")
"""What may change, by its place in a task file."""


class Edit(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    title: LineText
    objective: Purpose
    optimizer: OptimizerSpec
    stop: Stop


def edited_task(task: Task, changes: Mapping[str, Any]) -> Task:
    """Return the task with these changes, checked by the rules of a task file.

    Changes are values by place, of those in `EDITABLE`; None removes a field. `InvalidTask` has
    every wrong field.
    """
    document = {name: msgspec.to_builtins(getattr(task, name)) for name in Edit.__struct_fields__}
    for place in EDITABLE:
        table, _, name = place.rpartition(".")
        if place in changes:
            (document[table] if table else document)[name] = changes[place]
    edit = read(document, Edit, "the task", (*RULES, *TASK_RULES))
    return msgspec.structs.replace(task, title=edit.title, objective=edit.objective, stop=edit.stop)

"""Read, check and edit an owner's task: its file, its defaults, its rules.

Devices never need this package: what they need of a task is in its terms. A new field needs a rule,
a sentence for people, and a line in docs/tasks.md.
"""

from crowdml.protocol.task.editing import EDITABLE, edited_task
from crowdml.protocol.task.task import Task
from crowdml.protocol.task.task_file import (
    COUNTERS,
    EVALUATORS,
    CollectionSpec,
    OptimizerSpec,
    TaskFile,
)
from crowdml.protocol.task.task_head import PILOT_WORDS, TASK_HEAD
from crowdml.protocol.task.toml import TomlValue, recommended_fields, set_fields

__all__ = [
    "COUNTERS",
    "EDITABLE",
    "EVALUATORS",
    "PILOT_WORDS",
    "TASK_HEAD",
    "CollectionSpec",
    "OptimizerSpec",
    "Task",
    "TaskFile",
    "TomlValue",
    "edited_task",
    "recommended_fields",
    "set_fields",
]

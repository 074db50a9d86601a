"""Make task files with chosen fields, for tests of what they may contain."""

FIELDS: dict[str, str] = {
    "name": '"activity"',
    "title": '"Activity"',
    "objective": '"Recognise activities."',
    "owner": '"Jane Doe"',
    "contact": '"jane@example.org"',
    "purpose": '"A free app."',
    "sensors": '"Accelerometer."',
    "features.count": "4",
    "target.labels": '["still", "walking", "running"]',
    "model.kind": '"softmax"',
    "privacy.mechanism": '"laplace"',
    "privacy.epsilon": "1.0",
    "collection.batch": "10",
    "collection.buffer": "20",
    "optimizer.rate": '"sqrt"',
    "stop.updates": "1000",
}
"""A small task with the paper's mechanism, as TOML."""

STEPS = """\
name = "steps"
title = "Steps"
objective = "to learn"
owner = "Jane Doe"
contact = "jane@example.org"
purpose = "a free app"
sensors = "motion"
[features]
count = 5
[target]
labels = ["a", "b"]
[model]
kind = "softmax"
[privacy]
epsilon = 4.0   # what a person loses in total
[collection]
batch = 7
"""
"""A task file as people write it, to be planned for a crowd."""

REGRESSION = {"target.labels": "[]", "model.kind": '"huber"'}


def task_file(changes: dict[str, str | None] | None = None) -> str:
    """Return the smallest task file with some fields set to TOML values, or left out where None."""
    fields = {**FIELDS, **(changes or {})}
    return "".join(f"{name} = {value}\n" for name, value in fields.items() if value is not None)

"""Check that every field of a task file is documented, and that examples in pages are tasks."""

import math
import re
from types import UnionType
from typing import get_args, get_type_hints

import msgspec
import pytest
from typer.testing import CliRunner

from crowdml.cli import app
from crowdml.protocol import MECHANISMS, Sensor, Task
from crowdml.protocol.task.task_file import COUNTERS, EVALUATORS, TaskFile
from tests.docs.pages import page, table_rows
from tests.examples.room import room_task


def structs() -> dict[str, type[msgspec.Struct]]:
    """Return the tables of a task file by name; "" holds the fields above all tables."""
    hints = get_type_hints(TaskFile)
    tables = {
        name: hint
        for name, hint in hints.items()
        if isinstance(hint, type) and issubclass(hint, msgspec.Struct)
    }
    found: dict[str, type[msgspec.Struct]] = {"": TaskFile}
    for name, hint in tables.items():
        found[name] = hint
        if name == "features":
            found["features.sensor"] = Sensor
    return found


def documented() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {"": []}
    table = ""
    for cells in table_rows(page("docs/tasks.md")):
        if heading := re.match(r"\*\*\[([\w.]+)\]\*\*", cells[0]):
            table = heading[1]
            found[table] = []
        elif field := re.match(r"`(\w+)`", cells[0]):
            found[table].append(field[1])
    return found


def test_every_table_and_no_other() -> None:
    assert list(documented()) == list(structs())


@pytest.mark.parametrize("table", structs())
def test_every_field_and_no_other(table: str) -> None:
    tables = [name.rpartition(".")[2] for name in structs()]
    fields = [name for name in structs()[table].__struct_fields__ if name not in tables]
    assert documented()[table] == fields


def test_the_usual_shares() -> None:
    rows = {cells[0]: cells[1] for cells in table_rows(page("docs/tasks.md"))}
    assert rows["`evaluators`"] == f"{EVALUATORS}"
    assert rows["`counters`"] == f"{COUNTERS}, or 0 for a number"
    text = page("docs/simulate.md")
    assert f"`evaluators = {EVALUATORS}`" in text
    assert f"`counters = {COUNTERS}`" in text


def test_every_choice_is_named() -> None:
    text = page("docs/tasks.md")
    for struct in structs().values():
        for hint in get_type_hints(struct).values():
            for choice in get_args(hint):
                if isinstance(choice, str) and not isinstance(hint, UnionType):
                    assert f"`{choice}`" in text


def test_what_mechanisms_choose() -> None:
    """Compare the defaults of `clip` and `reach` with the mechanisms."""
    rows = {cells[0]: cells[-1] for cells in table_rows(page("docs/tasks.md"))}
    numbers = {name: set(re.findall(r"[\d.]*\d", rows[f"`{name}`"])) for name in ("clip", "reach")}
    kinds = MECHANISMS.values()
    assert numbers["clip"] - {"1", "2"} == {f"{k.clip:g}" for k in kinds if k.clip < math.inf}
    assert numbers["reach"] == {f"{distance:g}" for kind in kinds for distance in kind.reach}


def test_the_tutorials_task() -> None:
    task = room_task()
    assert task.terms.private
    assert task.terms.privacy.epsilon == 1
    assert "Say " not in task.terms.text


def test_the_file_to_start_from() -> None:
    result = CliRunner().invoke(app, ["task", "new", "steps"])
    assert Task.from_toml(result.output).name == "steps"
    uncommented = re.sub(r"^# (\w+ = )", r"\1", result.output, flags=re.MULTILINE)
    assert uncommented.count("=") == result.output.count("=")
    assert uncommented != result.output
    assert Task.from_toml(uncommented).name == "steps", "what is commented out is right as well"
    defaults = re.sub(
        r"^# (?!sensor|error|max_staleness)(\w+ = )", r"\1", result.output, flags=re.MULTILINE
    )
    assert defaults.count("\n# ") == 4, "the head and three examples"
    assert Task.from_toml(defaults) == Task.from_toml(result.output), "and holds without it"

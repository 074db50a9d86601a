"""Test that a command loads nothing that only other commands need."""

import subprocess
import sys
from pathlib import Path

import typer

from crowdml.cli import app
from crowdml.cli.commands import COMMANDS
from tests.cli.command import Command, environment

REPORT = """
import atexit, sys
atexit.register(lambda: print(*sys.modules, file=sys.stderr))
from crowdml.cli import main
main()
"""


def loaded(folder: Path, *arguments: str) -> set[str]:
    """Return the modules that a command has loaded when it ends."""
    done = subprocess.run(
        [sys.executable, "-c", REPORT, *arguments],
        capture_output=True, text=True, cwd=folder, env=environment(folder), timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return set(done.stderr.split())


def test_the_version_needs_no_library(tmp_path: Path) -> None:
    modules = loaded(tmp_path, "--version")
    assert "crowdml.cli" in modules
    assert not modules & {"msgspec", "numpy", "rich", "sqlalchemy", "typer"}


def test_help_loads_no_command(tmp_path: Path) -> None:
    modules = loaded(tmp_path, "--help")
    assert not modules & {
        f"crowdml.cli.{entry.target.partition(':')[0]}" for entry in COMMANDS.values()
    }
    assert not modules & {"msgspec", "numpy", "sqlalchemy"}


def test_a_list_of_tasks_loads_no_migration_and_no_server(crowdml: Command) -> None:
    """Check that Alembic is loaded only to make the database."""
    task = crowdml("task", "new").said().replace('"Say ', '"We say ')
    (crowdml.folder / "task.toml").write_text(task)
    assert "alembic" in loaded(crowdml.folder, "task", "create", "task.toml")
    modules = loaded(crowdml.folder, "task", "list")
    assert "sqlalchemy" in modules
    assert not modules & {
        "alembic", "argon2", "cryptography", "granian", "jinja2", "matplotlib", "numba", "onnx",
        "opendp", "paho", "rich.progress", "scipy", "starlette", "crowdml.device",
    }  # fmt: skip


def test_summaries_are_the_first_lines_of_what_the_commands_say() -> None:
    root = typer.main.get_command(app)
    assert isinstance(root, typer.core.TyperGroup)
    said = {name: str(command.help).split("\n\n")[0] for name, command in root.commands.items()}
    assert said == {name: entry.summary for name, entry in COMMANDS.items()}

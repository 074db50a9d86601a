"""Test which files a command opens: a server's database, a device's file, or neither."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from tests.cli.command import Here
from tests.cli.test_usage import group, words
from tests.device.fakes import MemoryTransport, join
from tests.protocol.files import task_file
from tests.support.postgres import Postgres, running_postgres
from tests.support.servers import create, make_task

GIVEN = {
    "name": "activity", "file": "file", "device": "x", "fingerprint": "ab", "url": "https://a",
    "--out": "m.npz", "--title": "New", "--source": "rows.csv", "--password-file": "password",
}  # fmt: skip
"""What a command is given, by the names of its arguments and options."""

NEW = ("serve", "task create", "restore")
"""The commands that make a database; the other ones need one that exists."""


def commands(option: str) -> Iterator[str]:
    """List the commands with this option, each as it is typed, with the arguments that it needs."""
    for path in words(group()):
        command: Any = group()
        for word in path:
            command = command.commands[word]
        if isinstance(command, typer.core.TyperGroup) or path[0] in ("bench", "demo"):
            continue
        options = {param.opts[0]: param for param in command.params if "--" in param.opts[0]}
        if option not in options:
            continue
        typed = " ".join(path)
        arguments = [GIVEN[param.name] for param in command.params
                     if param.required and param.opts[0] not in options]  # fmt: skip
        for name, param in options.items():
            if name in GIVEN and (param.required or typed in ("task edit", "owner add")):
                arguments += [name, GIVEN[name]]
        yield " ".join([typed, *arguments]).replace("backup file", "backup new-file")


SERVERS, DEVICES = sorted(commands("--database")), sorted(commands("--file"))


def test_all_commands_are_found() -> None:
    assert len(SERVERS) >= 18
    assert len(DEVICES) >= 11


@pytest.fixture
def files(quick: Here) -> Here:
    """Make a folder with a device's file, a server's database and what commands read."""
    create("sqlite:///server.db", make_task())
    join(quick.folder / "my.device", MemoryTransport(make_task())).close()
    (quick.folder / "file").write_text(task_file({"name": '"new"'}))
    (quick.folder / "password").write_text("0123456789\n")
    (quick.folder / "empty").touch()
    return quick


def bytes_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


@pytest.mark.parametrize("command", SERVERS)
def test_a_server_command_rejects_a_device_file(files: Here, command: str) -> None:
    before = bytes_of(files.folder)
    if command.startswith("restore"):
        create("sqlite:///other.db", make_task())
        files("backup", "backup", "--database", "sqlite:///other.db").said()
        command, before = "restore backup", bytes_of(files.folder)
    said = files(*command.split(), "--database", "sqlite:///my.device").error()
    assert said.startswith("my.device must be a server's database, found a device's file. "), said
    assert "--database or CROWDML_DATABASE" in said
    assert bytes_of(files.folder) == before


@pytest.mark.parametrize("command", [each for each in SERVERS if not each.startswith(NEW)])
def test_a_command_makes_no_database(files: Here, command: str) -> None:
    """Check a mistyped name and an empty file."""
    before = bytes_of(files.folder)
    said = files(*command.split(), "--database", "sqlite:///nope.db").error()
    assert said.startswith("there is no database nope.db. Name the right one"), said
    said = files(*command.split(), "--database", "sqlite:///empty").error()
    assert said.startswith("the database empty has no tables yet. Name the right one"), said
    assert bytes_of(files.folder) == before


@pytest.mark.parametrize("command", [each for each in DEVICES if "join" not in each])
def test_a_device_command_rejects_a_database(files: Here, command: str) -> None:
    before = bytes_of(files.folder)
    said = files(*command.split(), "--file", "server.db").error()
    assert said == "server.db is another database. Name a device file."
    said = files(*command.split(), "--file", "nope.device").error()
    assert said == "there is no device file nope.device. Join a task first."
    assert bytes_of(files.folder) == before


@pytest.fixture(scope="module")
def postgres() -> Iterator[Postgres]:
    with running_postgres() as postgres:
        yield postgres


@pytest.mark.parametrize("command", ["task list", "task show activity", "owner list", "backup b"])
def test_postgresql_without_tables(quick: Here, postgres: Postgres, command: str) -> None:
    """Check that the message names the database and what to do."""
    said = quick(*command.split(), "--database", postgres.url()).error()
    assert said.startswith(f"the database {postgres.url()} has no tables yet. "), said
    assert "Name the right one with --database or CROWDML_DATABASE" in said
    assert "`crowdml serve` and `crowdml task create` make a new one" in said
    assert list(quick.folder.iterdir()) == []

"""List all commands; the module of a command is loaded when the command is used."""

from collections import UserDict
from copy import copy
from importlib import import_module
from typing import Annotated, Any, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_group

import crowdml
from crowdml.cli.output import print_lines


class CommandEntry(NamedTuple):
    """Name the target of a command, as `module:attribute`, and the first line of its help."""

    target: str
    summary: str


COMMANDS = {
    "demo": CommandEntry(
        "demo:demo",
        "Run a server, its portal and a live crowd of real devices on this machine, over HTTPS.",
    ),
    "audit": CommandEntry(
        "audit:audit",
        "Try to tell two data sets apart by what a device sends, and compare with the claimed ε.",
    ),
    "plan": CommandEntry(
        "plan:plan",
        "Estimate before the launch what a crowd will learn at an ε, and recommend settings.",
    ),
    "predict": CommandEntry(
        "predict:predict",
        "Predict a label or a number for each line of a file, with a learnt model.",
    ),
    "simulate": CommandEntry(
        "simulate:simulate_command", "Simulate a crowd before you ask a real one."
    ),
    "reproduce": CommandEntry(
        "reproduce:reproduce",
        "Reproduce the paper's figures beside its own values, in one HTML report.",
    ),
    "serve": CommandEntry("serve:serve_command", "Run the server until Ctrl-C."),
    "program": CommandEntry(
        "program:program",
        "Print the SHA-256 of each file of the phone's program, or compare a server's files.",
    ),
    "backup": CommandEntry(
        "backup:backup",
        "Write everything that the server keeps to one file; the server may be running.",
    ),
    "restore": CommandEntry(
        "backup:restore", "Put a backup into a new database, SQLite or PostgreSQL."
    ),
    "task": CommandEntry("task:app", "Create and manage tasks."),
    "owner": CommandEntry("owner:app", "Choose who may manage tasks in the web portal."),
    "device": CommandEntry("device:app", "Take part in a task."),
    "bench": CommandEntry("bench:app", "Measure how fast the parts are."),
}


class Commands(UserDict[str, Any]):
    """Hold the commands by name, and load each when it is first looked up."""

    def __getitem__(self, name: str) -> Any:
        if isinstance(entry := self.data[name], CommandEntry):
            self.data[name] = _load(name, entry)
        return self.data[name]


def _load(name: str, entry: CommandEntry) -> Any:
    module, _, attribute = entry.target.partition(":")
    found = getattr(import_module(f"crowdml.cli.{module}"), attribute)
    alone = typer.Typer()
    if isinstance(found, typer.Typer):
        alone.add_typer(found, name=name)
    else:
        alone.command(name)(found)
    command = get_group(alone).commands[name]
    _hide_flag_types(command)
    return command


def _hide_flag_types(command: Any) -> None:
    """Hide the type of each flag in the help of a command and its subcommands.

    A flag takes no value.
    """
    for param in command.get_params(typer.Context(command)):
        if getattr(param, "is_flag", False):
            param.metavar = ""
    for part in getattr(command, "commands", {}).values():
        _hide_flag_types(part)


class LazyGroup(TyperGroup):
    """Show the help of the root command from summaries, so that no command has to be loaded."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands = Commands(COMMANDS)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        brief = copy(self)
        brief.commands = {
            name: TyperCommand(name, help=entry.summary) for name, entry in COMMANDS.items()
        }
        _hide_flag_types(brief)
        super(LazyGroup, brief).format_help(ctx, formatter)


app = typer.Typer(
    name="crowdml",
    cls=LazyGroup,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        print_lines(crowdml.__version__)
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version and end."
        ),
    ] = False,
) -> None:
    """Learn from a crowd's devices without taking the crowd's data."""

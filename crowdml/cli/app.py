"""All commands, in one list."""

from typing import Annotated

import typer

import crowdml
from crowdml.cli import (
    audit,
    backup,
    bench,
    demo,
    device,
    owner,
    plan,
    predict,
    program,
    reproduce,
    serve,
    simulate,
    task,
)
from crowdml.cli.output import say

__all__ = ["app"]

app = typer.Typer(
    name="crowdml",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        say(crowdml.__version__)
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
    """Learning from a crowd's devices without taking the crowd's data."""


app.command("demo")(demo.demo)
app.command("audit")(audit.audit)
app.command("plan")(plan.plan)
app.command("predict")(predict.predict)
app.command("simulate")(simulate.simulate_command)
app.command("reproduce")(reproduce.reproduce)
app.command("serve")(serve.serve_command)
app.command("program")(program.program)
app.command("backup")(backup.backup)
app.command("restore")(backup.restore)
app.add_typer(task.app, name="task")
app.add_typer(owner.app, name="owner")
app.add_typer(device.app, name="device")
app.add_typer(bench.app, name="bench")

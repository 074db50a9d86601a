"""Define `crowdml owner`: who may manage tasks in the web portal."""

import getpass
import sys
from typing import Annotated

import typer

from crowdml.cli.extras import require_extras
from crowdml.cli.options import DATABASE, DEFAULT_DATABASE, JSON, open_store
from crowdml.cli.output import print_json, print_lines
from crowdml.errors import InvalidInput

app = typer.Typer(help="Choose who may manage tasks in the web portal.", no_args_is_help=True)
OWNER_NAME = Annotated[str, typer.Argument(help="The owner's name.")]
LONGEST_LINE = 10_000


@app.command()
def add(
    name: OWNER_NAME,
    password_file: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="The file whose first line is the password; - is standard input."
        ),
    ] = None,
    database: DATABASE = DEFAULT_DATABASE,
) -> None:
    """Add an owner, or change an owner's password and end their sessions."""
    password = _typed() if password_file is None else _first_line(password_file)
    with open_store(database) as store, require_extras("server"):
        known = name in store.owners.names()
        store.owners.add(name, password)
    print_lines(f"changed the password of {name}" if known else f"added {name}")


@app.command("list")
def list_owners(database: DATABASE = DEFAULT_DATABASE, json: JSON = False) -> None:
    """List the owners."""
    with open_store(database) as store:
        names = store.owners.names()
    if json:
        print_json({"owners": names})
    else:
        print_lines(*names or ["no owners; add one with: crowdml owner add NAME"])


@app.command()
def remove(name: OWNER_NAME, database: DATABASE = DEFAULT_DATABASE) -> None:
    """Remove an owner, and end their sessions; their tasks stay."""
    with open_store(database) as store:
        store.owners.remove(name)
    print_lines(f"removed {name}")


def _typed() -> str:
    if not sys.stdin.isatty():
        raise InvalidInput(
            "a password must be typed on a terminal, found none. Use --password-file FILE, or "
            "--password-file - for standard input."
        )
    password = getpass.getpass("Password: ")
    if password != getpass.getpass("The same again: "):
        raise InvalidInput("the two passwords must be the same. Nothing is changed.")
    return password


def _first_line(file: str) -> str:
    try:
        if file == "-":
            line = sys.stdin.readline(LONGEST_LINE)
        else:
            with open(file, encoding="utf-8") as lines:
                line = lines.readline(LONGEST_LINE)
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(
            f"cannot read the password file {file}: {getattr(error, 'strerror', error)}."
        ) from error
    return line.rstrip("\r\n")

"""crowdml owner: who may steer tasks through the web portal."""

import getpass
import sys
from contextlib import closing
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from crowdml.cli.extras import needs
from crowdml.cli.serve import DATABASE
from crowdml.cli.task import JSON
from crowdml.errors import InvalidInput

if TYPE_CHECKING:
    from crowdml.server import Store

__all__ = ["app"]

app = typer.Typer(help="Say who may steer tasks in the web portal.", no_args_is_help=True)
NAME = Annotated[str, typer.Argument(help="The owner's name.")]
LONGEST_LINE = 10_000


@app.command()
def add(
    name: NAME,
    password_file: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Take its first line; - is standard input."),
    ] = None,
    database: DATABASE = "sqlite:///crowdml.db",
) -> None:
    """Add an owner, or change a password, which ends that owner's sessions."""
    password = _typed() if password_file is None else _first_line(password_file)
    with _open(database) as store, needs("server"):
        known = name in store.accounts.names()
        store.accounts.add(name, password)
    print(f"changed the password of {name}" if known else f"added {name}")


@app.command("list")
def list_owners(database: DATABASE = "sqlite:///crowdml.db", json: JSON = False) -> None:
    """List the owners."""
    with _open(database) as store:
        names = store.accounts.names()
    if json:
        print(msgspec.json.encode({"owners": names}).decode())
    else:
        print("\n".join(names) or "no owners; add one with: crowdml owner add NAME")


@app.command()
def remove(name: NAME, database: DATABASE = "sqlite:///crowdml.db") -> None:
    """Remove an owner and end their sessions; tasks stay."""
    with _open(database) as store:
        store.accounts.remove(name)
    print(f"removed {name}")


def _open(database: str) -> "closing[Store]":
    with needs("server"):
        from crowdml.server import Store
    return closing(Store(database))


def _typed() -> str:
    if not sys.stdin.isatty():
        raise InvalidInput(
            "a password is typed on a terminal, found none. Use --password-file FILE, or "
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
        raise InvalidInput(f"cannot read the password file {file}: {error}.") from error
    return line.rstrip("\r\n")

"""Options that several commands share, and what they open."""

from contextlib import closing
from typing import TYPE_CHECKING, Annotated

import typer

from crowdml.cli.extras import needs

if TYPE_CHECKING:
    from crowdml.server import Store

__all__ = [
    "DATABASE",
    "DEFAULT_DATABASE",
    "DEVICE_LIMIT",
    "INSECURE_HTTP",
    "JSON",
    "SAMPLE_LIMIT",
    "SEED",
    "open_store",
]

DEFAULT_DATABASE = "sqlite:///crowdml.db"
DATABASE = Annotated[
    str,
    typer.Option(envvar="CROWDML_DATABASE", help="Where everything is kept: sqlite:///FILE."),
]
JSON = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
SEED = Annotated[int, typer.Option(min=0, help="The same seed gives the same curves.")]
INSECURE_HTTP = Annotated[
    bool, typer.Option("--insecure-http", help="Allow plain HTTP beyond loopback.")
]
SAMPLE_LIMIT = Annotated[float | None, typer.Option(help="The most ε that one sample may lose.")]
DEVICE_LIMIT = Annotated[
    float | None, typer.Option(help="The most ε that all check-ins may add up to.")
]


def open_store(database: str) -> "closing[Store]":
    """The server's database, for as long as a `with` lasts."""
    with needs("server"):
        from crowdml.server import Store
    return closing(Store(database))

"""Define `crowdml task`: the commands of owners, on the server's database."""

from crowdml.cli.task.commands import app
from crowdml.cli.task.start import read_named_start

__all__ = ["app", "read_named_start"]

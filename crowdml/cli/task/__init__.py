"""Define `crowdml task`: the commands of owners, on the server's database.

They change a database through `Store`, also while a server runs: the server follows the changes.
`crowdml task new` writes a task file and needs no database.
"""

from crowdml.cli.task.commands import app
from crowdml.cli.task.named_start import read_named_start

__all__ = ["app", "read_named_start"]

"""Define `crowdml backup` and `crowdml restore`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from crowdml.cli.extras import require_extras
from crowdml.cli.options import DATABASE, DEFAULT_DATABASE
from crowdml.cli.output import print_lines

if TYPE_CHECKING:
    from crowdml.server.operation import BackupContents

BACKUP_FILE = Annotated[Path, typer.Argument(help="The file of the backup.")]


def backup(file: BACKUP_FILE, database: DATABASE = DEFAULT_DATABASE) -> None:
    """Write everything that the server keeps to one file; the server may be running."""
    with require_extras("server"):
        from crowdml.server.operation import back_up
    print_lines(f"wrote {file}: {_in_words(back_up(database, file))}")


def restore(file: BACKUP_FILE, database: DATABASE = DEFAULT_DATABASE) -> None:
    """Put a backup into a new database, SQLite or PostgreSQL."""
    with require_extras("server"):
        from crowdml.server.operation import restore
    print_lines(f"restored {file}: {_in_words(restore(database, file))}")


def _in_words(contents: "BackupContents") -> str:
    return ", ".join(
        f"{count:,} {name if count != 1 else name.removesuffix('s')}"
        for name, count in contents._asdict().items()
    ).replace("checkin", "check-in")

"""Open a database by its URL, and bring its tables up to date."""

import re
import sqlite3
from contextlib import closing, suppress
from pathlib import Path

import sqlalchemy as sa

from crowdml.errors import CrowdmlError, InvalidInput
from crowdml.server.database import schema
from crowdml.server.database.connection import Database
from crowdml.server.database.postgresql import PostgreSql
from crowdml.server.database.sqlite import Sqlite
from crowdml.tables import check_kind

MIGRATIONS = Path(__file__).with_name("migrations")
VERSIONS = sorted(file.name[:4] for file in MIGRATIONS.glob("versions/*.py"))
HEAD = VERSIONS[-1]
NAME_IT = (
    "Name the right one with --database or CROWDML_DATABASE; `crowdml serve` and `crowdml task "
    "create` make a new one."
)


def open_database(url: str, create: bool = True) -> Database:
    """Open the database; raise `CrowdmlError` with the reason if it cannot be used.

    Args:
        create: Whether to make a database that does not exist or is empty; otherwise a mistyped
            name is an error.
    """
    check_kind("the database", url, str, "a URL such as sqlite:///crowdml.db")
    scheme = url.partition(":")[0].partition("+")[0]
    # Without a file the database would be in memory, invisible to other processes.
    if scheme not in ("sqlite", "postgresql") or url.rstrip("/") == "sqlite:":
        raise InvalidInput(
            "the database must be a URL such as sqlite:///crowdml.db or "
            f"postgresql://user@host/crowdml, found {url!r}."
        )
    new = new_file(url)
    try:
        if scheme == "sqlite":
            _require_own(Path(sa.make_url(url).database or ""), create)
        database = Sqlite(url) if scheme == "sqlite" else PostgreSql(url)
        _migrate(database, create)
    except ModuleNotFoundError as error:
        raise CrowdmlError(
            "PostgreSQL needs psycopg: pip install 'crowdml[postgresql]'."
        ) from error
    except (sa.exc.ArgumentError, ValueError) as error:
        raise InvalidInput(f"the database must be a URL, found {url!r}: {error}.") from error
    except sa.exc.DatabaseError as error:
        remove_new(new)
        shown = sa.make_url(url).render_as_string(hide_password=True)
        raise CrowdmlError(f"cannot use the database {shown}: {_why(url, error)}.") from error
    return database


def _require_own(file: Path, create: bool) -> None:
    """Raise `CrowdmlError` for a file of another program, before anything in it is changed."""
    if not file.exists():
        if not create and file.absolute().parent.is_dir():
            raise CrowdmlError(f"there is no database {file}. {NAME_IT}")
        return
    address = f"{file.absolute().as_uri()}?mode=rw"
    if file.is_dir():
        raise CrowdmlError(f"a database must be a file, found the folder {file}. {NAME_IT}")
    if not create and file.is_file() and not file.stat().st_size:
        # Opening an empty file would write to it.
        raise CrowdmlError(f"the database {file} has no tables yet. {NAME_IT}")
    # A file that cannot be read here is reported when the database is opened.
    with suppress(sqlite3.Error), closing(sqlite3.connect(address, uri=True)) as db:
        names = {name for (name,) in db.execute("SELECT name FROM sqlite_master")}
        if names and "alembic_version" not in names:
            what = "a device's file" if "buffer" in names else "the file of another program"
            raise CrowdmlError(f"{file} must be a server's database, found {what}. {NAME_IT}")


def new_file(url: str) -> Path | None:
    """Return the file of an SQLite database that does not exist yet; None for any other."""
    file = sa.make_url(url).database if url.startswith("sqlite:") else None
    return Path(file) if file and not Path(file).exists() else None


def remove_new(file: Path | None) -> None:
    """Remove the files of a new database that could not be completed."""
    for suffix in ("", "-wal", "-shm", "-journal") if file else ():
        Path(f"{file}{suffix}").unlink(missing_ok=True)


def _why(url: str, error: sa.exc.DatabaseError) -> str:
    """Explain SQLite's "unable to open database file": a folder may be missing."""
    file = sa.make_url(url).database if url.startswith("sqlite") else None
    folder = Path(file).parent if file else None
    why = re.sub(r"\[Errno -?\d+\] ", "", str(error.orig)).strip()
    if folder is not None and not folder.is_dir():
        return f"there is no folder {folder}. Create it, or name another file"
    return f"{why}. {NAME_IT}".removesuffix(".") if "not a database" in why else why.rstrip("?.")


def _migrate(database: Database, create: bool) -> None:
    with database.reading() as connection:
        found = _version_in(connection)
        if found is None and not create:
            raise CrowdmlError(f"the database {database.name} has no tables yet. {NAME_IT}")
        if found == HEAD:
            return
        if found is not None and found > HEAD:
            raise CrowdmlError(
                f"the database {database.name} must be of a version up to {HEAD}, found {found}, "
                "which a newer crowdml has made. Install that, or restore an older backup."
            )
    # Alembic is rarely needed, and loading it takes longer than reading a task.
    from alembic import command
    from alembic.config import Config

    with database.migrating() as connection:
        config = Config()
        config.set_main_option("script_location", str(MIGRATIONS))
        config.attributes["connection"] = connection
        if _version_in(connection) is None:
            schema.metadata.create_all(connection, checkfirst=False)
            command.stamp(config, "head")
        else:
            command.upgrade(config, "head")


def _version_in(connection: sa.Connection) -> str | None:
    """Read which migration the tables have; None if there are no tables yet."""
    if not sa.inspect(connection).has_table("alembic_version"):
        return None
    query = "SELECT version_num FROM alembic_version"
    return connection.exec_driver_sql(query).scalar_one_or_none()

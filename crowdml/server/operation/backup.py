"""Write a backup to one file while servers run, and restore it into SQLite or PostgreSQL.

The archive is a zip with the certificate and a SQLite database, whatever kind the tables came from.
Backup and restore copy rows in one transaction each. So a backup can move between the two kinds of
database, and a backup of an older version is migrated when it is opened.
"""

import errno
import os
import shutil
import zipfile
import zlib
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import sqlalchemy as sa

from crowdml.certificate import CERTIFICATE, KEY
from crowdml.errors import CrowdmlError, InvalidInput
from crowdml.server.database import DELETED, Database, new_file, open_database, remove_new, schema
from crowdml.server.settings import Settings

TABLES_FILE = "crowdml.db"
PAGE_ROWS = 1000
# An owner who signed out after the backup must not be signed in again by it. Nodes come and go, and
# joins are deleted after a day.
PASSING_TABLES = (schema.sessions, schema.attempts, schema.nodes, schema.joins, schema.network_keys)
COPIED_TABLES = [table for table in schema.metadata.sorted_tables if table not in PASSING_TABLES]


NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


class BackupContents(NamedTuple):
    """Count what a backup holds."""

    tasks: int
    devices: int
    checkins: int


def back_up(database: str, file: Path) -> BackupContents:
    """Write everything to a file that only its owner can read; it appears when it is whole.

    A file that exists is replaced only if it is a backup: a mistyped name must not cost a database.
    """
    if file.is_file() and not _is_backup(file):
        raise InvalidInput(
            f"only a backup is replaced by a backup, found another file at {file}. Name a new file."
        )
    try:
        with TemporaryDirectory(prefix=".crowdml-backup-", dir=file.parent) as folder:
            contents = _read(database, Path(folder) / TABLES_FILE)
            whole = Path(folder) / "whole"
            _pack(whole, Path(folder) / TABLES_FILE, Settings(database=database).folder)
            whole.replace(file)
            _flush(file.parent)
    except OSError as error:
        raise CrowdmlError(f"cannot write the backup {file}: {error.strerror}.") from error
    except sa.exc.DatabaseError as error:
        raise CrowdmlError(f"cannot write the backup {file}: {error.orig}.") from error
    return contents


def restore(database: str, file: Path) -> BackupContents:
    """Put a backup into an empty database, or raise and change nothing."""
    new = new_file(database)
    try:
        return _restore(database, file)
    except sa.exc.DatabaseError as error:
        remove_new(new)
        shown = sa.make_url(database).render_as_string(hide_password=True)
        raise CrowdmlError(f"cannot write to {shown}: {error.orig}.") from error
    except BaseException:
        remove_new(new)
        raise


def _is_backup(file: Path) -> bool:
    if not zipfile.is_zipfile(file):
        return not file.stat().st_size
    with zipfile.ZipFile(file) as archive:
        return TABLES_FILE in archive.namelist()


def _restore(database: str, file: Path) -> BackupContents:
    with TemporaryDirectory(prefix="crowdml-restore-") as folder:
        _unpack(file, Path(folder))
        with (
            closing(open_database(f"sqlite:///{folder}/{TABLES_FILE}")) as source,
            source.consistent_read() as rows,
            closing(open_database(database)) as target,
            target.writing() as connection,
        ):
            _require_empty(connection, database)
            contents = _copy(rows, target, connection)
            # Before the commit: without the certificate, no device could connect to the tables.
            _put_certificate(Path(folder), Settings(database=database).folder)
            target.notify()
    return contents


def _read(database: str, tables: Path) -> BackupContents:
    with (
        closing(open_database(database, create=False)) as source,
        source.consistent_read() as rows,
        closing(_new_tables(tables)) as target,
        target.writing() as connection,
    ):
        contents = _copy(rows, target, connection)
    if not contents.tasks:
        shown = sa.make_url(database).render_as_string(hide_password=True)
        raise InvalidInput(f"{shown} must hold a task, found none. Name the right --database.")
    return contents


def _new_tables(tables: Path) -> Database:
    """Make a database for a copy beside the backup; its errors are reported as the backup's."""
    try:
        return open_database(f"sqlite:///{tables}")
    except CrowdmlError as error:
        why = getattr(error.__cause__, "orig", error)
        raise OSError(errno.ENOSPC, str(why)) from error


def _copy(rows: sa.Connection, target: Database, connection: sa.Connection) -> BackupContents:
    copied = {}
    for table in COPIED_TABLES:
        found = rows.execute(sa.select(table).execution_options(yield_per=PAGE_ROWS))
        copied[table.name] = 0
        for page in found.mappings().partitions():
            connection.execute(sa.insert(table), [dict(row) for row in page])
            copied[table.name] += len(page)
    target.reset_sequences()
    # A deleted task keeps a row without a name, so that its number is not used again.
    state = schema.tasks.c.state
    query = sa.select(sa.func.count()).select_from(schema.tasks).where(state == DELETED)
    copied["tasks"] -= connection.execute(query).scalar_one()
    return BackupContents(*(copied[name] for name in BackupContents._fields))


def _require_empty(connection: sa.Connection, database: str) -> None:
    for table in COPIED_TABLES:
        if connection.execute(sa.select(table).limit(1)).first():
            shown = sa.make_url(database).render_as_string(hide_password=True)
            raise InvalidInput(
                f"a backup must be restored into an empty database, found {table.name} in {shown}. "
                "Name another --database."
            )


def _pack(whole: Path, tables: Path, home: Path) -> None:
    with zipfile.ZipFile(whole, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.write(tables, TABLES_FILE)
        for name in (CERTIFICATE, KEY):
            if (home / name).exists():
                archive.write(home / name, name)
    whole.chmod(0o600)
    _flush(whole)


def _unpack(file: Path, folder: Path) -> None:
    """Unpack the known files, and verify their checksums."""
    try:
        with zipfile.ZipFile(file) as archive:
            names = {TABLES_FILE, *archive.namelist()} & {TABLES_FILE, CERTIFICATE, KEY}
            _require_room(file, folder, sum(archive.getinfo(name).file_size for name in names))
            for name in names:
                archive.extract(name, folder)
    except (OSError, EOFError, KeyError, RuntimeError, zipfile.BadZipFile, zlib.error) as error:
        if isinstance(error, OSError) and error.errno in NO_ROOM:
            raise CrowdmlError(
                f"cannot write the contents of {file} to {folder.parent}: {error.strerror}. "
                "Make room, or set TMPDIR to a folder that has it."
            ) from error
        if isinstance(error, OSError) and error.strerror:
            raise InvalidInput(f"cannot read the backup {file}: {error.strerror}.") from error
        raise InvalidInput(f"{file} must be a whole backup, found a fault: {error}.") from error


def _require_room(file: Path, folder: Path, n_bytes: int) -> None:
    """Reject an archive that would fill the disk, before anything is unpacked."""
    free = shutil.disk_usage(folder).free
    if n_bytes > free // 2:  # half of it for the database that it goes into
        raise InvalidInput(
            f"{file} needs {2 * n_bytes:,} bytes on the disk of {folder}, found {free:,} free. "
            "Make room, or set TMPDIR to another disk."
        )


def _put_certificate(source: Path, home: Path) -> None:
    """Put the certificate beside the tables; raise if another certificate is there."""
    files = [source / name for name in (CERTIFICATE, KEY)]
    found = {file.name: file.read_bytes() for file in files if file.exists()}
    for name, pem in found.items():
        if (home / name).exists() and (home / name).read_bytes() != pem:
            raise InvalidInput(
                f"{home / name} must be the file in the backup, found another. Move it away first."
            )
    for name, pem in found.items():
        (home / name).touch(mode=0o600)
        (home / name).write_bytes(pem)
        _flush(home / name)


def _flush(path: Path) -> None:
    """Wait until a file is on the disk."""
    number = os.open(path, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)

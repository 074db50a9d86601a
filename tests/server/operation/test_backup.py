"""Test that backups are complete and private, and that other files are rejected."""

import os
import shutil
import sqlite3
import stat
import zipfile
from contextlib import closing
from pathlib import Path

import pytest

from crowdml.certificate import CERTIFICATE, KEY, self_signed
from crowdml.errors import CrowdmlError, InvalidInput
from crowdml.server import Store
from crowdml.server.operation.backup import TABLES_FILE, BackupContents, back_up, restore
from tests.support.full_disk import full_disk
from tests.support.servers import create, make_task


def url(folder: Path) -> str:
    folder.mkdir(exist_ok=True)
    return f"sqlite:///{folder / 'crowd.db'}"


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    """Back up one task, with a certificate."""
    create(url(tmp_path / "home"), make_task())
    self_signed(tmp_path / "home", "localhost")
    back_up(url(tmp_path / "home"), tmp_path / "backup")
    return tmp_path / "backup"


def test_a_backup_is_one_private_file(archive: Path) -> None:
    assert stat.S_IMODE(archive.stat().st_mode) == 0o600
    assert sorted(path.name for path in archive.parent.iterdir()) == ["backup", "home"]


def test_what_is_restored(archive: Path, tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        assert restore(url(tmp_path / "other"), archive) == BackupContents(1, 0, 0)
    finally:
        os.umask(before)
    for name in (CERTIFICATE, KEY):
        home, other = (tmp_path / folder / name for folder in ("home", "other"))
        assert home.read_bytes() == other.read_bytes()
        assert stat.S_IMODE(other.stat().st_mode) == 0o600
    with closing(Store(url(tmp_path / "other"))) as store:
        assert store.task("activity").task == make_task()


def test_a_database_that_holds_something_is_not_overwritten(archive: Path, tmp_path: Path) -> None:
    create(url(tmp_path / "other"), make_task("mine"))
    with pytest.raises(InvalidInput, match="restored into an empty database, found actions"):
        restore(url(tmp_path / "other"), archive)
    with closing(Store(url(tmp_path / "other"))) as store:
        assert [row.task.name for row in store.tasks()] == ["mine"]
    assert not (tmp_path / "other" / KEY).exists()


def test_another_certificate_is_not_overwritten(archive: Path, tmp_path: Path) -> None:
    _, key = self_signed(tmp_path / "other", "localhost")
    secret = key.read_bytes()
    with pytest.raises(InvalidInput, match="Move it away first"):
        restore(url(tmp_path / "other"), archive)
    assert key.read_bytes() == secret
    with closing(Store(url(tmp_path / "other"))) as store:
        assert store.tasks() == []


def damaged(archive: Path) -> list[bytes]:
    whole = archive.read_bytes()
    middle = len(whole) // 2
    return [
        b"",
        whole[:middle],
        whole[:-1],
        whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :],
    ]


def test_a_damaged_backup_is_rejected(archive: Path, tmp_path: Path) -> None:
    for number, contents in enumerate(damaged(archive)):
        archive.write_bytes(contents)
        with pytest.raises(InvalidInput, match="must be a whole backup"):
            restore(url(tmp_path / str(number)), archive)
        assert list((tmp_path / str(number)).iterdir()) == []


def test_a_backup_that_would_fill_the_disk_is_not_unpacked(tmp_path: Path) -> None:
    """Check an archive of 300 bytes whose directory claims more space than is free."""
    free = shutil.disk_usage(tmp_path).free
    with zipfile.ZipFile(tmp_path / "backup", "w") as archive:
        archive.writestr(TABLES_FILE, b"")
        archive.infolist()[0].file_size = free
    with pytest.raises(InvalidInput, match=r"backup needs [\d,]+ bytes .*found [\d,]+ free"):
        restore(url(tmp_path / "new"), tmp_path / "backup")


def test_another_archive_is_rejected(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "other.zip", "w") as other:
        other.writestr("readme", "hello")
    with pytest.raises(InvalidInput, match=f"must be a whole backup.*{TABLES_FILE}"):
        restore(url(tmp_path / "new"), tmp_path / "other.zip")


def test_an_empty_database_is_not_backed_up(tmp_path: Path) -> None:
    """Check that a mistyped path does not replace last night's backup by an empty one."""
    with zipfile.ZipFile(tmp_path / "backup", "w") as archive:
        archive.writestr("crowdml.db", "last night's")
    whole = (tmp_path / "backup").read_bytes()
    with pytest.raises(CrowdmlError, match="there is no database"):
        back_up(url(tmp_path), tmp_path / "backup")
    Store(url(tmp_path)).close()
    with pytest.raises(InvalidInput, match="must hold a task, found none"):
        back_up(url(tmp_path), tmp_path / "backup")
    assert (tmp_path / "backup").read_bytes() == whole


@pytest.mark.parametrize("name", ["crowd.db", "rows.csv", "other.zip"])
def test_only_a_backup_is_replaced(tmp_path: Path, name: str) -> None:
    """Check that a mistyped name costs neither the database itself nor another file."""
    create(url(tmp_path), make_task())
    (tmp_path / "rows.csv").write_text("0.1,walk\n")
    with zipfile.ZipFile(tmp_path / "other.zip", "w") as archive:
        archive.writestr("letter.txt", "Dear Ann")
    before = (tmp_path / name).read_bytes()
    with pytest.raises(InvalidInput, match="only a backup is replaced by a backup, found another"):
        back_up(url(tmp_path), tmp_path / name)
    assert (tmp_path / name).read_bytes() == before
    (tmp_path / "night").touch()
    assert back_up(url(tmp_path), tmp_path / "night") == BackupContents(1, 0, 0)
    assert back_up(url(tmp_path), tmp_path / "night") == BackupContents(1, 0, 0)


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    create(url(tmp_path / "home"), make_task())
    with pytest.raises(CrowdmlError, match="cannot write the backup"):
        back_up(url(tmp_path / "home"), tmp_path / "missing" / "backup")


def test_a_database_of_a_newer_version(tmp_path: Path) -> None:
    create(url(tmp_path / "home"), make_task())
    with closing(sqlite3.connect(tmp_path / "home" / "crowd.db")) as database, database:
        database.execute("UPDATE alembic_version SET version_num = '9999'")
    with pytest.raises(CrowdmlError, match="found 9999, which a newer crowdml has made"):
        Store(url(tmp_path / "home"))


def test_a_new_database_is_private(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        with closing(Store(url(tmp_path / "home"))) as store:
            store.create_task(make_task())
            modes = {
                file.name: file.stat().st_mode & 0o777 for file in (tmp_path / "home").iterdir()
            }
    finally:
        os.umask(before)
    assert modes == {"crowd.db": 0o600, "crowd.db-wal": 0o600, "crowd.db-shm": 0o600}


@pytest.mark.parametrize("largest", [0, 60_000, 100_000, 109_000])
def test_a_full_disk_is_one_error_and_leaves_nothing(
    archive: Path, tmp_path: Path, largest: int
) -> None:
    whole = archive.read_bytes()
    home, other = url(tmp_path / "home"), url(tmp_path / "other")
    with full_disk(largest), pytest.raises(CrowdmlError, match=r"^cannot (write|use) "):
        back_up(home, archive)
    assert archive.read_bytes() == whole
    assert sorted(path.name for path in tmp_path.iterdir()) == ["backup", "home", "other"]
    with full_disk(largest), pytest.raises(CrowdmlError, match=r"^cannot (write|use) "):
        restore(other, archive)
    assert not (tmp_path / "other" / KEY).exists()
    assert restore(other, archive) == BackupContents(1, 0, 0)

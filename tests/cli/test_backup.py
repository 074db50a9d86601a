"""Test `crowdml backup` and `crowdml restore`."""

import pytest

from tests.cli.command import Here
from tests.support.full_disk import full_disk
from tests.support.servers import create, make_task


def test_there_and_back(quick: Here) -> None:
    create("sqlite:///crowdml.db", make_task())
    counts = "1 task, 0 devices, 0 check-ins"
    assert quick("backup", "night").said() == f"wrote night: {counts}\n"
    restored = quick("restore", "night", "--database", "sqlite:///other.db").said()
    assert restored == f"restored night: {counts}\n"
    assert "found actions in sqlite:///crowdml.db" in quick("restore", "night").error()
    assert "cannot read the backup missing: No such file" in quick("restore", "missing").error()


@pytest.mark.parametrize("largest", [0, 60_000, 100_000])
def test_a_full_disk_under_a_backup(quick: Here, largest: int) -> None:
    """Check for one sentence and exit code 1; the old backup stays, and nothing else is left."""
    create("sqlite:///crowdml.db", make_task())
    quick("backup", "night").said()
    whole = (quick.folder / "night").read_bytes()
    before = sorted(path.name for path in quick.folder.iterdir())
    for file in ("night", "new"):
        with full_disk(largest):
            said = quick("backup", file).error()
        # To read a database, SQLite itself writes a small file beside it.
        assert said.startswith((f"cannot write the backup {file}: ", "cannot use the database ")), (
            said
        )
        assert said.endswith("."), said
    assert (quick.folder / "night").read_bytes() == whole
    left = sorted(path.name for path in quick.folder.iterdir())
    assert [name for name in left if not name.startswith("crowdml.db-")] == before


def test_deleted_tasks_are_not_counted_and_failures_leave_nothing(quick: Here) -> None:
    create("sqlite:///crowdml.db", make_task(), make_task("gone"))
    quick("task", "delete", "gone").said()
    assert "1 task, " in quick("backup", "night").said()
    before = sorted(path.name for path in quick.folder.iterdir())
    (quick.folder / "home").mkdir()
    for largest in (0, 60_000):
        with full_disk(largest):
            quick("restore", "night", "--database", "sqlite:///home/other.db").error()
        assert list((quick.folder / "home").iterdir()) == []
    (quick.folder / "home").rmdir()
    assert sorted(path.name for path in quick.folder.iterdir()) == before

"""Test the files that commands write."""

from pathlib import Path

import pytest

from crowdml.cli.output import write_file
from crowdml.errors import InvalidInput
from tests.support.full_disk import full_disk


def test_a_full_disk_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "task.toml").write_text("old")
    with full_disk(10), pytest.raises(InvalidInput, match=r"cannot write to .*task\.toml: "):
        write_file(tmp_path / "task.toml", bytes(1000))
    assert [path.name for path in tmp_path.iterdir()] == ["task.toml"]
    assert (tmp_path / "task.toml").read_text() == "old"
    write_file(tmp_path / "task.toml", b"new")
    assert (tmp_path / "task.toml").read_text() == "new"


def test_a_full_device() -> None:
    with pytest.raises(InvalidInput, match="cannot write to /dev/full: No space left on device"):
        write_file(Path("/dev/full"), b"model")
    write_file(Path("/dev/null"), b"model")

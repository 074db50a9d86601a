"""Check that the demo erases nothing in its folder but the files of an earlier demo."""

from pathlib import Path

import pytest

from crowdml.demo.folder import erase_demo, prepare_folder
from crowdml.errors import InvalidInput


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for folder in (tmp_path / "file" / "x", tmp_path / ("x" * 300)):
        with pytest.raises(InvalidInput, match=r"cannot use the folder .* Choose another"):
            prepare_folder(folder)


def test_an_earlier_demo_is_replaced(tmp_path: Path) -> None:
    erase_demo(tmp_path / "nothing")
    (tmp_path / "empty").mkdir()
    erase_demo(tmp_path / "empty")
    old = tmp_path / "old"
    (old / "devices").mkdir(parents=True)
    (old / ".crowdml-demo").touch()
    erase_demo(old)
    assert not old.exists()
    old.mkdir()
    (old / "other").touch()
    with pytest.raises(InvalidInput, match="Choose another with --folder"):
        erase_demo(old)

"""The command in a folder of its own: in a process, or where that adds nothing, in this one."""

from pathlib import Path

import pytest

from crowdml.server import Store
from tests.cli.command import Command, Here


@pytest.fixture
def crowdml(tmp_path: Path) -> Command:
    return Command(tmp_path)


@pytest.fixture
def empty(tmp_path: Path) -> str:
    """A server's database without tasks, where commands look for it."""
    url = f"sqlite:///{tmp_path / 'crowdml.db'}"
    Store(url).close()
    return url


@pytest.fixture
def quick(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Here:
    monkeypatch.chdir(tmp_path)
    return Here(tmp_path, capsys=capsys)

"""Provide the command in its own folder: in a new process, or in the process of the tests."""

from pathlib import Path

import pytest

from crowdml.server import Store
from tests.cli.command import Command, Here


@pytest.fixture
def crowdml(tmp_path: Path) -> Command:
    return Command(tmp_path)


@pytest.fixture
def empty(tmp_path: Path) -> str:
    """Make a server's database without tasks, in the default place."""
    url = f"sqlite:///{tmp_path / 'crowdml.db'}"
    Store(url).close()
    return url


@pytest.fixture
def quick(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Here:
    monkeypatch.chdir(tmp_path)
    return Here(tmp_path, capsys=capsys)

"""Servers that a test may kill and start again."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.servers import Start, starter


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    with starter(tmp_path) as start:
        yield start

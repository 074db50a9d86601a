"""Servers that the tests of this folder share, and one that each test may break."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from crowdml.server import Store
from tests.servers import Process, Start, Wire, create, make_task, starter


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    """Plain HTTP on loopback, with one task in every situation that a device can meet."""
    process = Process(tmp_path_factory.mktemp("server"))
    create(
        process.database,
        make_task("activity"),
        make_task("other"),
        make_task("heldout", collection__heldout=0.34),
        make_task("noiseless", privacy__epsilon=float("inf")),
        make_task("private", enrolment__mode="invite"),
        make_task("prompt", enrolment__max_staleness=1),
        make_task("short", stop__updates=1),
        make_task("slow", enrolment__checkins_per_minute=1.0),
        make_task("still"),
    )
    yield process.start()
    assert process.stop() == 0, process.output


@pytest.fixture
def wire(server: Process) -> Iterator[Wire]:
    with server.connected() as wire:
        yield wire


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    with starter(tmp_path) as start:
        yield start


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = Store(f"sqlite:///{tmp_path / 'store.db'}")
    yield store
    store.close()

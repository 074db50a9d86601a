"""Provide servers that the tests of this folder share, and one that each test may break."""

import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest

from crowdml.server import Store
from tests.server.rejected_requests import Bench
from tests.support.postgres import Postgres, running_postgres
from tests.support.servers import (
    FaultyServer,
    HttpClient,
    checkin,
    create,
    enrol,
    make_direction_task,
    make_task,
)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FaultyServer]:
    """Start plain HTTP on loopback, with one task in every situation that a device can meet."""
    process = FaultyServer(tmp_path_factory.mktemp("server"))
    create(
        process.database,
        make_task("activity"),
        make_task("other"),
        make_direction_task("people", collection__evaluators=0.3, collection__counters=0.3),
        make_direction_task("numbers", model__kind="ridge", target__labels=None),
        make_task("heldout", collection__heldout=0.34),
        make_task("private", enrolment__mode="invite"),
        make_task("prompt", enrolment__max_staleness=1),
        make_task("short", stop__updates=1),
        make_task("slow", enrolment__checkins_per_minute=1.0),
        make_task("still"),
    )
    yield process.start()
    assert process.stop() == 0, process.output


@pytest.fixture
def wire(server: FaultyServer) -> Iterator[HttpClient]:
    with server.connected() as wire:
        yield wire


@pytest.fixture(scope="module")
def bench(server: FaultyServer) -> Iterator[Bench]:
    task = make_task("activity")
    with server.connected() as wire:
        bench = Bench(server, wire, task, enrol(wire))
        for seed in range(3):
            assert bench.check_in(checkin(task, seed)).status == 200
        yield bench


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    with running_postgres() as postgres:
        yield postgres


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Make an empty database, on both engines in turn."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'any.db'}"
    postgres: Postgres = request.getfixturevalue("postgres")
    return postgres.make(f"t{secrets.token_hex(8)}")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = Store(f"sqlite:///{tmp_path / 'store.db'}")
    yield store
    store.close()

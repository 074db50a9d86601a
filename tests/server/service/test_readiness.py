"""Test that a server that cannot store anything says so, and why, until it can."""

import os
import resource
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
from sqlalchemy.exc import OperationalError

from crowdml.server import Store
from crowdml.server.service.heartbeat import HUNG_SECONDS, Heartbeat, reason_of
from tests.server.metrics_of_nodes import BEAT, nodes, scrape, total
from tests.support.postgres import running_postgres
from tests.support.servers import (
    HttpClient,
    Start,
    checkin,
    enrol,
    eventually,
    make_task,
    problem_kind,
)

CHECKINS = "/v1/tasks/activity/checkins"


def await_ready(wire: HttpClient, ready: bool) -> None:
    assert eventually(lambda: (wire.get("/readyz").status == 200) is ready)


def see_failing(wire: HttpClient, reason: str) -> None:
    await_ready(wire, False)
    reply = wire.get("/readyz")
    assert (reply.status, problem_kind(reply)) == (503, "unavailable")
    assert reply.json()["detail"] == f"the server cannot store anything: {reason}. Try again later."
    assert wire.get("/healthz").status == 200
    assert "crowdml_nodes" in wire.get("/metrics").body.decode()


def test_not_ready_while_writes_fail(start: Start) -> None:
    server = start(make_task(), heartbeat_seconds=BEAT)
    with server.connected() as wire:
        assert wire.get("/readyz").status == 200
        server.fail_writes.touch()
        see_failing(wire, "the disk is full")
        server.fail_writes.unlink()
        await_ready(wire, True)
        assert eventually(
            lambda: all(total(scrape(wire), "crowdml_database_failures_total").values())
        )


def test_files_that_may_not_grow(start: Start) -> None:
    """Let the system reject writes: no file of this process may be longer than a few bytes."""
    task = make_task()
    server = start(task, heartbeat_seconds=BEAT)
    with server.connected() as wire:
        token = enrol(wire)
        assert server.process
        unlimited = resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (16, unlimited[1]))
        see_failing(wire, "the disk cannot be written")
        body = checkin(task)
        assert wire.call("POST", CHECKINS, body, token).status == 503
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, unlimited)
        await_ready(wire, True)
        assert wire.call("POST", CHECKINS, body, token).json()["status"] == "applied"


@pytest.mark.skipif(os.getuid() != 0, reason="only root may mount a small disk")
def test_a_full_disk(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk") as disk:
        database = f"sqlite:///{disk / 'crowd.db'}"
        with nodes(tmp_path, database, 1) as (server,), server.connected() as wire:
            token = enrol(wire)
            filler = disk / "filler"
            with pytest.raises(OSError, match="No space"):
                filler.write_bytes(bytes(2**21))
            see_failing(wire, "the disk is full")
            body = checkin(make_task())
            assert wire.call("POST", CHECKINS, body, token).status == 503
            filler.unlink()
            await_ready(wire, True)
            assert wire.call("POST", CHECKINS, body, token).json()["status"] == "applied"


@contextmanager
def small_disk(folder: Path) -> Iterator[Path]:
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)]
    if subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("this machine lets nobody mount")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def test_postgresql_that_is_read_only_or_away(tmp_path: Path) -> None:
    with running_postgres() as postgres:
        database = postgres.make("crowd")
        with nodes(tmp_path, database, 1) as (server,), server.connected() as wire:
            for on, reason in ((True, "the database is read-only"), (False, None)):
                with psycopg.connect(postgres.url(), autocommit=True) as connection:
                    change = f"ALTER SYSTEM SET default_transaction_read_only = {on}"
                    connection.execute(change)
                    connection.execute("SELECT pg_reload_conf()")
                if reason:
                    see_failing(wire, reason)
                else:
                    await_ready(wire, True)
            postgres.stop()
            see_failing(wire, "the database cannot be reached")
            assert total(scrape(wire), "crowdml_checkins_total"), "its own counts stay"
            postgres.start()
            await_ready(wire, True)
            assert total(scrape(wire), "crowdml_nodes") == {"": 1}


def test_a_database_that_does_not_answer(store: Store) -> None:
    """Check that silence counts as an error, because a hanging database reports none."""
    now = [0.0]
    heartbeat = Heartbeat(every=5, clock=lambda: now[0])
    heartbeat.beat(store, [])
    now[0] = 5 + HUNG_SECONDS
    assert heartbeat.trouble is None
    now[0] += 2
    assert heartbeat.trouble == "the database has not answered for 27 seconds"
    heartbeat.beat(store, [])
    assert heartbeat.trouble is None


def test_reasons_show_no_address() -> None:
    words = 'connection to server at "192.0.2.1", port 5432 failed: Connection refused'
    error = OperationalError("SELECT 1", None, psycopg.OperationalError(words))
    assert reason_of(error) == "the database cannot be reached"
    strange = OperationalError("SELECT 1", None, psycopg.OperationalError("192.0.2.1 is strange"))
    assert reason_of(strange) == "the database does not take it (OperationalError)"

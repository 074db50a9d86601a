"""Test that a real server's memory grows with participating devices, not with joined ones."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from crowdml.server.database.tokens import token_sha256
from tests.support.servers import Start, checkin, make_task

MOST = 50 * 2**20


def resident(pid: int) -> int:
    """Return the number of bytes in memory now."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * 4096


def join(file: Path, devices: int) -> None:
    """Add `devices` devices to every task; the token of each is its name."""
    with closing(sqlite3.connect(file)) as database, database:
        for (task,) in database.execute("SELECT id FROM tasks").fetchall():
            names = ((number, f"{task}-{number}") for number in range(devices))
            database.executemany(
                "INSERT INTO devices VALUES (?, ?, ?, ?, 'active')",
                ((task, number, name, token_sha256(name)) for number, name in names),
            )


@pytest.mark.parametrize("kind", ["sgd", "average-gradient"])
def test_devices_that_only_joined_take_no_memory(start: Start, kind: str) -> None:
    """Send one check-in by the device that joined last, which also writes a snapshot."""
    task = make_task(features__count=100, optimizer__kind=kind)
    sizes = []
    for devices in (100, 100_000):
        server = start(task, snapshot_every=1)
        join(server.file, devices)
        with server.connected() as wire:
            token = f"1-{devices - 1}"
            reply = wire.call("POST", "/v1/tasks/activity/checkins", checkin(task), token)
            assert reply.json() == {"version": 1, "status": "applied"}
            statistics = wire.get("/v1/tasks/activity/stats").json()
            assert statistics["active_devices"] == 1
        assert server.process is not None
        sizes.append(resident(server.process.pid))
        with server.store() as store:
            snapshot = store.log(1).snapshots()[0]
            assert snapshot is not None
            assert len(snapshot[1]) < 2**20
    assert sizes[1] - sizes[0] < MOST

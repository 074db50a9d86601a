"""Back up a working server, and let devices go on with the restored server."""

import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import numpy as np
import sqlalchemy as sa

from crowdml.device import Device, RetryTimer
from crowdml.privacy import Limits
from crowdml.server import Store
from crowdml.server.database import schema
from crowdml.server.database.opening import open_database
from crowdml.server.operation.backup import COPIED_TABLES, back_up, restore
from tests.support.postgres import running_postgres
from tests.support.servers import (
    LABELS,
    Portal,
    create,
    eventually,
    make_direction_task,
    make_task,
    recompute,
)

DEVICES = 3


@contextmanager
def crowd(server: Portal, folder: Path) -> Iterator[list[Device]]:
    """Run devices that add samples until the block ends, and stay open."""
    stop = threading.Event()

    def collect(device: Device) -> None:
        rng = np.random.default_rng()
        while not stop.wait(0.001):
            device.add(rng.uniform(-0.2, 0.2, 4), LABELS[rng.integers(3)])

    devices = [
        Device.join(
            server.url,
            "activity",
            file=folder / f"{number}.device",
            fingerprint=server.fingerprint,
            limits=Limits(1.0, 1e9),
            retry_timer=RetryTimer(base=0.05, longest=0.2),
        )
        for number in range(DEVICES)
    ]
    threads = [threading.Thread(target=collect, args=(device,)) for device in devices]
    with ExitStack() as stack:
        for device in devices:
            stack.enter_context(device)
        for thread in threads:
            thread.start()
            stack.callback(thread.join)
        stack.callback(stop.set)
        yield devices


def acknowledged(devices: list[Device]) -> set[str]:
    return {
        checkin
        for device in devices
        for checkin, answer in device._store.answers.items()
        if answer == "applied"
    }


def logged(database: str) -> set[str]:
    with closing(Store(database)) as store:
        return {entry.id for entry in store.log(store.task("activity").id)}


def test_devices_go_on_with_a_restored_server(tmp_path: Path) -> None:
    """Restore into another folder with the same certificate: devices notice only the pause."""
    first = Portal(tmp_path / "first", "self-signed")
    first.folder.mkdir()
    create(first.database, make_task())
    archive = tmp_path / "night.backup"
    with first, crowd(first, tmp_path) as devices:
        assert eventually(lambda: len(acknowledged(devices)) > 30)
        before = acknowledged(devices)
        contents = back_up(first.database, archive)
        since = len(acknowledged(devices))
        assert eventually(lambda: len(acknowledged(devices)) > since)
        first.kill()

        second = Portal(tmp_path / "second", "self-signed", port=first.port)
        second.folder.mkdir()
        assert restore(second.database, archive) == contents
        assert before <= logged(second.database)
        assert len(logged(second.database)) == contents.checkins
        # Only what was acknowledged after the backup is lost with the first server.
        lost = acknowledged(devices) - logged(second.database)
        known = len(acknowledged(devices))
        with second:
            assert second.fingerprint == first.fingerprint
            assert eventually(lambda: len(acknowledged(devices)) > known + 10)
            assert all(device.ended is None for device in devices)
            assert acknowledged(devices) - lost <= logged(second.database)
            with second.connected() as wire:
                version = wire.get("/v1/tasks/activity/stats").json()["version"]
            assert version <= recompute(second.database).version


def test_from_sqlite_to_postgresql_and_back(tmp_path: Path) -> None:
    first, last = (f"sqlite:///{tmp_path / name}" for name in ("first.db", "last.db"))
    create(first, make_task(), make_direction_task("people"))
    with closing(Store(first)) as store:
        store.owners.add("ada", "correct horse")
        store.owners.open_session("ada")
        device, _ = store.enrol(store.task("people").id, None, invite_required=False)
    contents = back_up(first, tmp_path / "one")
    with running_postgres() as postgres:
        middle = postgres.make("crowd")
        assert restore(middle, tmp_path / "one") == contents
        with closing(open_database(middle)) as database, database.consistent_read() as rows:
            count = sa.select(sa.func.count()).select_from(schema.tasks)
            assert rows.execute(count).scalar() == 2
            # New ids follow those that were restored; a copy under way sees none of them.
            create(middle, make_task("later"))
            assert rows.execute(count).scalar() == 2
        with closing(Store(middle)) as store:
            assert [row.task.name for row in store.tasks()] == ["activity", "people", "later"]
        assert back_up(middle, tmp_path / "two") == contents._replace(tasks=3)
    restore(last, tmp_path / "two")
    with closing(Store(last)) as store:
        assert [each.name for each in store.devices(2)] == [device.name]
        assert store.owners.names() == ["ada"]
    assert {table.name for table in COPIED_TABLES}.isdisjoint({"nodes", "sessions"})

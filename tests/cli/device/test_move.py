"""Test `crowdml device move` and `repin` with real servers: nothing is lost."""

import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from crowdml.device import Device, DeviceStore
from crowdml.server.operation.backup import back_up, restore
from tests.cli.command import Command, Here, Ran
from tests.support.authority import certify
from tests.support.servers import FaultyServer, Portal, create, make_task

ROW = "0.1,0.2,-0.3,0.1,walk\n"


class Joined:
    """Hold a device with two samples and one check-in, at a server with TLS."""

    def __init__(self, folder: Path, quick: Here, servers: ExitStack) -> None:
        self.folder, self.quick, self._servers = folder, quick, servers
        self.server = self.serve("first", make_task())
        self.file = folder / "data" / "crowdml" / "activity.device"
        link, fingerprint = f"{self.server.url}/join/activity", self.server.fingerprint
        quick("device", "join", link, "--fingerprint", fingerprint, "--yes").said()
        self.feed(5)

    def serve(self, name: str, *tasks: object, tls: str = "self-signed") -> Portal:
        server = FaultyServer(self.folder / name, tls)
        server.folder.mkdir(exist_ok=True)
        create(server.database, *tasks)  # type: ignore[arg-type]
        self._servers.callback(server.kill)
        return server.start()

    def restored(self, tls: str = "self-signed") -> Portal:
        """Restore the same server from a backup, at another address."""
        back_up(self.server.database, self.folder / "backup")
        kind = FaultyServer if tls == "self-signed" else Portal
        other = kind(self.folder / "restored", tls)
        other.folder.mkdir()
        restore(other.database, self.folder / "backup")
        self._servers.callback(other.kill)
        return other.start()

    def feed(self, rows: int) -> Ran:
        (self.folder / "rows").write_text(ROW * rows)
        return self.quick("device", "run", "--source", "rows", "--again", "--wait", 0)

    def state(self) -> list[object]:
        with closing(sqlite3.connect(self.file)) as file:
            tables = ("identity", "buffer", "outbox", "ledger", "answers")
            return [file.execute(f"SELECT * FROM {table}").fetchall() for table in tables]


@pytest.fixture
def joined(tmp_path: Path, quick: Here) -> Iterator[Joined]:
    with ExitStack() as servers:
        yield Joined(tmp_path, quick, servers)


def test_a_renewed_certificate(joined: Joined, quick: Here) -> None:
    server, old = joined.server, joined.server.fingerprint
    server.stop()
    (server.folder / "crowdml-key.pem").unlink()
    server.start()
    assert server.fingerprint != old
    rejected = joined.feed(1)
    assert rejected.code == 1
    assert "crowdml device repin" in rejected.err

    before = joined.state()
    wrong = quick("device", "repin", "ab" * 32, "--yes")
    assert wrong.code == 1
    assert f"found {server.fingerprint}" in wrong.err
    no = quick("device", "repin", server.fingerprint, typed="n\n")
    assert no.code == 1
    assert old in no.err
    assert server.fingerprint in no.err
    assert joined.state() == before

    quick("device", "repin", server.fingerprint, typed="y\n").said()
    assert joined.state()[1:] == before[1:]
    assert "1 check-in answered, 0 samples" in joined.feed(0).out


def test_a_new_address(joined: Joined, quick: Here) -> None:
    other = joined.restored()
    joined.server.stop()
    before = joined.state()
    link = f"{other.url}/join/activity"
    moved = quick("device", "move", link, "--fingerprint", other.fingerprint, typed="y\n")
    assert joined.server.url in moved.err
    assert other.url in moved.err
    assert moved.said().endswith(f"goes on at {other.url}\n")
    assert joined.state()[1:] == before[1:]
    assert "1 check-in answered, 0 samples" in joined.feed(1).said()
    with other.connected() as wire:
        assert wire.get("/v1/tasks/activity/stats").json()["version"] == 2


def test_servers_that_are_not_the_same(joined: Joined, quick: Here) -> None:
    """Check other terms, a missing task, a task without this device, and no fingerprint."""
    changed = joined.serve("changed", make_task(privacy__epsilon=2.0))
    stranger = joined.serve("stranger", make_task())
    empty = joined.serve("empty")
    before = joined.state()
    for server, words in (
        (changed, "the terms there must be the agreed ones"),
        (empty, "activity"),
        (stranger, "token"),
    ):
        pinned = ("--fingerprint", server.fingerprint, "--yes")
        rejected = quick("device", "move", server.url, *pinned)
        assert rejected.code == 1
        assert words in rejected.err, rejected.err
    assert quick("device", "move", stranger.url, "--yes").code == 1
    assert (
        "must lead to the task" in quick("device", "move", f"{empty.url}/join/x", "--yes").error()
    )
    assert joined.state() == before


def test_a_running_device_follows(joined: Joined, quick: Here) -> None:
    other = joined.restored()
    with Device(DeviceStore(joined.file)) as device:
        fingerprint = ("--fingerprint", other.fingerprint)
        quick("device", "move", other.url, *fingerprint, "--yes").said()
        joined.server.stop()
        device.add([0.1, 0.2, -0.3, 0.1], "walk")
        assert list(device._store.answers.values()) == ["applied"] * 2


def test_an_authority_vouches_for_the_server(
    joined: Joined, crowdml: Command, tmp_path: Path
) -> None:
    root, tls = certify(tmp_path / "authority")
    other = joined.restored(tls)
    with other.connected() as wire:
        page = wire.get("/tasks/activity/join").body.decode()
    assert "--fingerprint" not in page
    assert "self-signed" not in page
    url = f"https://localhost:{other.port}"
    before = joined.state()
    assert "not trusted" in crowdml("device", "move", url, "--yes").err
    assert joined.state() == before
    crowdml.changes["SSL_CERT_FILE"] = str(root)
    moved = crowdml("device", "move", url, "--yes")
    assert "to any that an authority of this system has signed" in moved.err
    assert moved.code == 0
    joined.server.stop()
    (tmp_path / "rows").write_text(ROW)
    ran = crowdml("device", "run", "--source", "rows", "--again", "--wait", 0)
    assert "1 check-in answered" in ran.said()

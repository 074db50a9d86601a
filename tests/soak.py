"""Load two nodes on PostgreSQL for a long time, with faults: `python -m tests.soak 3600`.

Devices take part through one address in front of both nodes and are restarted now and then. Other
clients send damaged check-ins, listen to events, or connect and send nothing. Every minute a node
or the database is killed. Memory, descriptors and disk space are printed every ten seconds. At the
end, every acknowledged check-in must be in the log exactly once, and both nodes must agree.
"""

import contextlib
import http.client
import json
import logging
import math
import secrets
import socket
import socketserver
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from itertools import cycle
from pathlib import Path

import numpy as np

from crowdml.device import Device, DeviceStore, RetryTimer
from crowdml.errors import CrowdmlError
from crowdml.privacy import Limits
from tests.integration.crowd import log_of
from tests.support.postgres import Postgres, running_postgres
from tests.support.servers import (
    LABELS,
    PATIENCE,
    FaultyServer,
    HttpClient,
    checkin,
    create,
    make_task,
    recompute,
)

DEVICES = 6
FEATURES = 4
PAUSE = 0.05
"""Seconds between two samples of a device, so that the crowd leaves room on the machine."""
BETWEEN_FAULTS = 60.0
UNLIKE_A_CRASH = {500, 501, 502}
"""Statuses that no fault explains; 503 means that the server is busy or about to end."""


class Front(socketserver.ThreadingTCPServer):
    """Forward each connection to one node, or to the other if the first does not answer."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, ports: list[int]) -> None:
        super().__init__(("127.0.0.1", 0), Forward)
        self.turns = cycle([ports, ports[::-1]])
        self.port = self.socket.getsockname()[1]
        threading.Thread(target=self.serve_forever, daemon=True).start()


class Forward(socketserver.BaseRequestHandler):
    def handle(self) -> None:
        assert isinstance(self.server, Front)
        for port in next(self.server.turns):
            with (
                contextlib.suppress(OSError),
                socket.create_connection(("127.0.0.1", port), 5) as up,
            ):
                up.settimeout(None)
                back = threading.Thread(target=copy, args=(up, self.request), daemon=True)
                back.start()
                copy(self.request, up)
                back.join()
                return


def copy(source: socket.socket, target: socket.socket) -> None:
    """Copy bytes until either side closes, then close both directions."""
    with contextlib.suppress(OSError):
        while data := source.recv(2**16):
            target.sendall(data)
    for each in (source, target):
        with contextlib.suppress(OSError):
            each.shutdown(socket.SHUT_RDWR)


class Soak:
    """Run every kind of client in its own thread, and faults beside them."""

    def __init__(self, folder: Path, seconds: float, postgres: Postgres) -> None:
        self.folder, self.seconds, self.postgres = folder, seconds, postgres
        self.over = threading.Event()
        self.counts: Counter[str] = Counter()
        self.wrong: list[str] = []
        database = postgres.make("soak")
        self.task = make_task("activity", features__count=FEATURES, stop__updates=10_000_000)
        create(database, self.task)
        self.nodes = [FaultyServer(folder / f"node-{n}", shared=database) for n in range(2)]

    def run(self) -> None:
        try:
            for node in self.nodes:
                node.start()
            self.front = Front([node.port for node in self.nodes])
            self._run()
        finally:
            for node in self.nodes:
                node.kill()

    def _run(self) -> None:
        jobs: list[Callable[[], None]] = [
            *(self._device(i) for i in range(DEVICES)), self._nonsense, self._silent, self._listen,
        ]  # fmt: skip
        threads = [threading.Thread(target=self._until_over, args=(job,)) for job in jobs]
        for thread in threads:
            thread.start()
        try:
            self._watch()
        finally:
            self.over.set()
            for thread in threads:
                thread.join()
        self._check()

    def _until_over(self, job: Callable[[], None]) -> None:
        while not self.over.is_set():
            try:
                job()
            except (CrowdmlError, OSError, http.client.HTTPException):
                self.counts["lost connections"] += 1
                self.over.wait(0.2)
            except Exception as error:
                self.wrong.append(f"{type(error).__name__}: {error}")
                return

    # Clients

    def _device(self, i: int) -> Callable[[], None]:
        rng = np.random.default_rng(i)

        def take_part() -> None:
            with self._open(i) as device:
                for _ in range(int(rng.integers(1, 60))):
                    device.add(rng.standard_normal(FEATURES), LABELS[rng.integers(3)])
                    if self.over.wait(PAUSE):
                        return
            self.counts["device restarts"] += 1

        return take_part

    def _open(self, i: int) -> Device:
        return Device.join(
            f"http://127.0.0.1:{self.front.port}", "activity", file=self._file(i),
            retry_timer=RetryTimer(base=0.01, longest=0.5, slot=0.0),
            limits=Limits(math.inf, math.inf),
        )  # fmt: skip

    def _file(self, i: int) -> Path:
        return self.folder / f"device-{i}" / "device"

    def _nonsense(self) -> None:
        """Send check-ins in which one byte is changed."""
        with closing(HttpClient(self.front.port)) as wire:
            token = self._enrol(wire)
            for _ in range(50):
                body = bytearray(checkin(self.task))
                body[secrets.randbelow(len(body))] = secrets.randbelow(256)
                reply = wire.call("POST", "/v1/tasks/activity/checkins", bytes(body), token)
                self.counts[f"nonsense answered {reply.status}"] += 1
                if reply.status in UNLIKE_A_CRASH:
                    self.wrong.append(f"{reply.status} for {bytes(body)!r}")
            wire.call("DELETE", "/v1/tasks/activity/devices/me", token=token)
        self.over.wait(0.5)

    def _enrol(self, wire: HttpClient) -> str:
        terms = wire.get("/v1/tasks/activity").json().get("terms_sha256", "")
        body = json.dumps({"terms": terms}).encode()
        reply = wire.call("POST", "/v1/tasks/activity/devices", body)
        if reply.status != 201:
            raise ConnectionError(f"no device was enrolled: {reply.status}")
        token: str = reply.json()["token"]
        return token

    def _silent(self) -> None:
        with contextlib.ExitStack() as stack:
            for _ in range(20):
                stack.enter_context(socket.create_connection(("127.0.0.1", self.front.port), 5))
            self.counts["silent connections"] += 20
            self.over.wait(3)

    def _listen(self) -> None:
        with socket.create_connection(("127.0.0.1", self.front.port), 5) as listener:
            listener.sendall(b"GET /v1/tasks/activity/events HTTP/1.1\r\nHost: here\r\n\r\n")
            self.counts["bytes of events"] += len(listener.recv(2**16))
            self.over.wait(1)

    # Faults and figures

    def _watch(self) -> None:
        between = min(BETWEEN_FAULTS, self.seconds / 4)
        started, next_fault = time.monotonic(), between
        faults = cycle([lambda: self._kill(0), lambda: self._kill(1), self._kill_database])
        while (passed := time.monotonic() - started) < self.seconds and not self.wrong:
            if passed >= next_fault:
                next_fault += between
                next(faults)()
            self._report(passed)
            self.over.wait(min(10.0, self.seconds / 10))

    def _kill(self, node: int) -> None:
        self.nodes[node].kill()
        self.counts["kills of nodes"] += 1
        self.nodes[node].start()

    def _kill_database(self) -> None:
        self.postgres.stop("immediate")
        self.counts["kills of the database"] += 1
        self.postgres.start()

    def _report(self, passed: float) -> None:
        disk = sum(file.stat().st_size for file in self.postgres.data.rglob("*") if file.is_file())
        seen = {
            "seconds": round(passed),
            "rss_mb": [self._rss(node) for node in self.nodes],
            "descriptors": [len(list((_proc(node) / "fd").iterdir())) for node in self.nodes],
            "disk_mb": round(disk / 2**20, 2),
            **self.counts,
        }
        print(json.dumps(seen), flush=True)

    def _rss(self, node: FaultyServer) -> float:
        pages = int((_proc(node) / "statm").read_text().split()[1])
        return round(pages * 4096 / 2**20, 1)

    def _check(self) -> None:
        """Check that every acknowledged check-in is in the log once, and that both nodes agree."""
        acknowledged: list[str] = []
        for i in range(DEVICES):
            with self._open(i) as device:
                device.flush(30)
            with closing(DeviceStore(self._file(i))) as store:
                assert store.pending_checkin is None, "a check-in is not answered"
                answers = store.answers.items()
                acknowledged += [each for each, answer in answers if answer != "waiting"]
        logged = Counter(entry.id for entry in log_of(self.nodes[0]))
        lost = set(acknowledged) - set(logged)
        twice = [each for each, n in logged.items() if n > 1]
        version = recompute(self.nodes[0].database).version
        ends = time.monotonic() + PATIENCE
        while (shown := [self._version(node) for node in self.nodes]) != [version, version]:
            assert time.monotonic() < ends, f"the nodes show {shown}, the log says {version}"
            time.sleep(0.1)
        found = {
            "acknowledged": len(acknowledged), "logged": logged.total(), "lost": len(lost),
            "twice": len(twice), "version": version,
        }  # fmt: skip
        print(json.dumps(found))
        assert not lost, f"{len(lost)} acknowledged check-ins are not in the log"
        assert not twice, f"{len(twice)} check-ins are in the log twice"
        assert not self.wrong, self.wrong

    def _version(self, node: FaultyServer) -> int:
        with node.connected() as wire:
            return int(wire.get("/v1/tasks/activity").json()["version"])


def _proc(node: FaultyServer) -> Path:
    assert node.process
    return Path(f"/proc/{node.process.pid}")


if __name__ == "__main__":
    # Devices warn about lost answers, which happen here on purpose.
    logging.getLogger("crowdml.device").setLevel(logging.ERROR)
    with tempfile.TemporaryDirectory() as folder, running_postgres() as postgres:
        Soak(Path(folder), float(sys.argv[1]), postgres).run()

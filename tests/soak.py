"""A server under mixed load and faults for as long as one likes: `python -m tests.soak 3600`.

Devices take part and are restarted, others send nonsense, listen, or connect and say nothing, and
the server is killed now and then. What it uses is written down every so often; at the end every
letter that a device wrote must be in the log once.
"""

import contextlib
import json
import logging
import math
import secrets
import socket
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import numpy as np

from crowdml.device import Device, DeviceStore, Waiting
from crowdml.errors import CrowdmlError
from crowdml.privacy import Limits
from tests.integration.crowd import log_of
from tests.servers import Process, checkin, create, enrol, make_task

__all__ = ["Soak"]

DEVICES = 6
FEATURES = 4
UNLIKE_A_CRASH = {500, 501, 502}
"""Answers that no fault explains; 503 says that the server is busy or about to end."""


class Soak:
    """Everything that goes on at once, each in a thread of its own."""

    def __init__(self, folder: Path, seconds: float) -> None:
        self.folder, self.seconds = folder, seconds
        self.over = threading.Event()
        self.counts: Counter[str] = Counter()
        self.wrong: list[str] = []
        self.server = Process(folder)
        self.task = make_task("activity", features__count=FEATURES)
        create(self.server.database, self.task)

    def run(self) -> None:
        self.server.start()
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
        self.server.stop()

    def _until_over(self, job: Callable[[], None]) -> None:
        while not self.over.is_set():
            try:
                job()
            except (CrowdmlError, OSError):
                self.counts["lost connections"] += 1
                self.over.wait(0.2)
            except Exception as error:
                self.wrong.append(f"{type(error).__name__}: {error}")
                return

    # What goes on

    def _device(self, i: int) -> Callable[[], None]:
        rng = np.random.default_rng(i)

        def take_part() -> None:
            with self._open(i) as device:
                for _ in range(int(rng.integers(1, 60))):
                    device.add(rng.standard_normal(FEATURES), int(rng.integers(3)))
                    if self.over.is_set():
                        return
            self.counts["device restarts"] += 1

        return take_part

    def _open(self, i: int) -> Device:
        return Device.join(
            f"http://127.0.0.1:{self.server.port}", "activity", file=self._file(i),
            waiting=Waiting(base=0.01, longest=0.5, slot=0.0), limits=Limits(math.inf, math.inf),
        )  # fmt: skip

    def _file(self, i: int) -> Path:
        return self.folder / f"device-{i}" / "device"

    def _nonsense(self) -> None:
        """Check-ins that are cut, changed or of nobody."""
        with self.server.connected() as wire:
            token = enrol(wire)
            for _ in range(50):
                body = bytearray(checkin(self.task))
                body[secrets.randbelow(len(body))] = secrets.randbelow(256)
                reply = wire.call("POST", "/v1/tasks/activity/checkins", bytes(body), token)
                self.counts[f"nonsense answered {reply.status}"] += 1
                if reply.status in UNLIKE_A_CRASH:
                    self.wrong.append(f"{reply.status} for {bytes(body)!r}")
            wire.call("DELETE", "/v1/tasks/activity/devices/me", token=token)
        self.over.wait(0.5)

    def _silent(self) -> None:
        with contextlib.ExitStack() as stack:
            for _ in range(20):
                stack.enter_context(socket.create_connection(("127.0.0.1", self.server.port), 5))
            self.counts["silent connections"] += 20
            self.over.wait(3)

    def _listen(self) -> None:
        with socket.create_connection(("127.0.0.1", self.server.port), 5) as listener:
            listener.sendall(b"GET /v1/tasks/activity/events HTTP/1.1\r\nHost: here\r\n\r\n")
            self.counts["bytes of events"] += len(listener.recv(2**16))
            self.over.wait(1)

    # What is seen

    def _watch(self) -> None:
        started, next_kill = time.monotonic(), min(60.0, self.seconds / 4)
        while (passed := time.monotonic() - started) < self.seconds and not self.wrong:
            if passed >= next_kill:
                next_kill += min(60.0, self.seconds / 4)
                self.server.kill()
                self.counts["kills"] += 1
                self.server.start()
            self._report(passed)
            self.over.wait(min(10.0, self.seconds / 10))

    def _report(self, passed: float) -> None:
        assert self.server.process
        process = Path(f"/proc/{self.server.process.pid}")
        pages = int((process / "statm").read_text().split()[1])
        disk = sum(file.stat().st_size for file in self.folder.glob("*.db*"))
        seen = {
            "seconds": round(passed),
            "rss_mb": round(pages * 4096 / 2**20, 1),
            "descriptors": len(list((process / "fd").iterdir())),
            "disk_mb": round(disk / 2**20, 2),
            **self.counts,
        }
        print(json.dumps(seen), flush=True)

    def _check(self) -> None:
        """All letters are answered now, and each is in the log once."""
        written: list[str] = []
        for i in range(DEVICES):
            with self._open(i) as device:
                device.flush(30)
            with closing(DeviceStore(self._file(i))) as store:
                assert store.pending is None, "a letter is not answered"
                written += [each for each, answer in store.answers.items() if answer != "waiting"]
        logged = Counter(entry.id for entry in log_of(self.server))
        lost = set(written) - set(logged)
        assert not lost, f"{len(lost)} acknowledged check-ins are not in the log"
        assert max(logged.values()) == 1, "a check-in is in the log twice"
        assert not self.wrong, self.wrong
        print(
            json.dumps(
                {"acknowledged": len(written), "logged": logged.total(), "lost": 0, "twice": 0}
            )
        )


if __name__ == "__main__":
    # That answers are lost is meant to happen here.
    logging.getLogger("crowdml.device").setLevel(logging.ERROR)
    with tempfile.TemporaryDirectory() as folder:
        Soak(Path(folder), float(sys.argv[1])).run()

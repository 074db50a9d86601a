"""A device in a process of its own, measuring itself. It imports nothing but a device needs."""

import sys
import tempfile
import time
from pathlib import Path

import msgspec
import numpy as np

from crowdml.bench.task import BATCH, CLASSES, FEATURES
from crowdml.device import Device, HttpTransport, Outcome
from crowdml.protocol import CheckinAnswer

WARM_UP, MEASURED = 3, 30


class CountingTransport(HttpTransport):
    """Counts the bytes of check-ins."""

    sent = 0

    def checkin(self, token: str, body: bytes) -> CheckinAnswer:
        self.sent += len(body)
        return super().checkin(token, body)


def main(url: str) -> None:
    transport = CountingTransport(url, "bench")
    with tempfile.TemporaryDirectory() as folder:
        device = Device.join(url, "bench", file=Path(folder) / "bench.device", transport=transport)
        device.set_limits(type(device.identity.limits)(1.0, 1e9))
        for _ in range(WARM_UP):
            _check_in(device)
        before, sent = time.process_time(), transport.sent
        for _ in range(MEASURED):
            _check_in(device)
        seconds = time.process_time() - before
        device.close()
    figures = {
        "cpu_ms": 1e3 * seconds / MEASURED,
        "bytes": (transport.sent - sent) / MEASURED,
        "rss_mb": _peak_memory() / 1e6,
    }
    print(msgspec.json.encode(figures).decode())


def _check_in(device: Device) -> None:
    """b samples, durably kept, then the whole of Routines 2 and 3."""
    for k in range(BATCH):
        x = np.linspace(-1.0, 1.0, FEATURES) * (k + 1)
        outcome = device.add(x, k % CLASSES)
    assert outcome is Outcome.CHECKED_IN, outcome


def _peak_memory() -> int:
    """The largest resident size so far, in bytes."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    raise OSError("no VmHWM in /proc/self/status")


if __name__ == "__main__":
    main(sys.argv[1])

"""Run a device in its own process and measure it, importing only what a device needs."""

import statistics
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
SAMPLES = np.linspace(-1.0, 1.0, FEATURES) * np.arange(1, BATCH + 1)[:, None]


class CountingTransport(HttpTransport):
    """Count the bytes of check-ins."""

    sent = 0

    def checkin(self, token: str, body: bytes) -> CheckinAnswer:
        self.sent += len(body)
        return super().checkin(token, body)


def main(url: str) -> None:
    transport = CountingTransport(url, "direction")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "bench.device"
        device = Device.join(
            url, "direction", file=file, transport=transport, accept_no_privacy=True
        )
        for _ in range(WARM_UP):
            _check_in(device)
        sent = transport.sent
        seconds = [_check_in(device) for _ in range(MEASURED)]
        device.close()
    results = {
        "cpu_ms": 1e3 * statistics.median(seconds),
        "bytes": (transport.sent - sent) / MEASURED,
        "rss_mb": _peak_memory() / 1e6,
    }
    print(msgspec.json.encode(results).decode())


def _check_in(device: Device) -> float:
    """Measure the CPU seconds for b samples, stored one by one, and for all of Routines 2 and 3."""
    before = time.process_time()
    for k, x in enumerate(SAMPLES):
        outcome = device.add(x, k % CLASSES)
    seconds = time.process_time() - before
    assert outcome is Outcome.CHECKED_IN, outcome
    return seconds


def _peak_memory() -> int:
    """Return the largest resident size of this process, in bytes."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    raise OSError("no VmHWM in /proc/self/status")


if __name__ == "__main__":
    main(sys.argv[1])

"""Measure a device that listens to Sensor Logger at 50 readings a second, in real time.

Run: python experiments/sources/load.py [SECONDS]
"""

import http.client
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from crowdml.demo import free_port
from crowdml.device import Device
from experiments.sources.afternoon import serving
from experiments.sources.apps import record, sensor_logger

TICKS = os.sysconf("SC_CLK_TCK")
WARM = 60.0
"""Seconds after the start from which on memory must not grow."""


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def resident_kb(pid: int) -> int:
    found = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())
    assert found
    return int(found[1])


def measure(folder: Path, url: str, seconds: float) -> dict[str, float]:
    """Post a message a second to `crowdml device run`, as the app does."""
    file, port = folder / "device", free_port()
    Device.join(url, "afternoon", file=file).close()
    command = [sys.executable, "-m", "crowdml", "device", "run", "--file", str(file)]
    command += ["--source", f"http://127.0.0.1:{port}", "--format", "sensor-logger"]
    with (folder / "output").open("wb") as output:
        device = subprocess.Popen(command, stdout=output, stderr=output)
    try:
        while b"listening" not in (folder / "output").read_bytes():
            assert device.poll() is None, (folder / "output").read_text()
            time.sleep(0.05)
        app = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        used = began = time.monotonic()
        used = cpu_seconds(device.pid)
        sizes = []
        for n, message in enumerate(sensor_logger(record(seconds))):
            time.sleep(max(0.0, began + n - time.monotonic()))
            app.request("POST", "/", message.body, {"Content-Type": "application/json"})
            answer = app.getresponse()
            assert answer.status == 200, answer.read()
            answer.read()
            sizes.append(resident_kb(device.pid))
        passed = time.monotonic() - began
        used = cpu_seconds(device.pid) - used
        warm = sizes[min(len(sizes) // 2, round(WARM)) :]
        return {
            "seconds": passed,
            "percent of a core": 100 * used / passed,
            "MB at first": warm[0] / 1024,
            "MB at the end": warm[-1] / 1024,
        }
    finally:
        device.terminate()
        device.wait()
        print((folder / "output").read_text())


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name, serving(Path(name)) as root:
        found = measure(Path(name), root, float(sys.argv[1]) if len(sys.argv) > 1 else 3600.0)
        for what, value in found.items():
            print(f"| {what} | {value:,.2f} |")

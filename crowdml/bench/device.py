"""Measure the cost of a check-in on a device: CPU, bytes, import time, memory."""

import statistics
import subprocess
import sys

import msgspec

from crowdml.bench.process import prepared_server

IMPORT = "import time; t = time.perf_counter(); {}; print(time.perf_counter() - t)"


def bench_device() -> dict[str, float]:
    """Measure each number in a fresh process, so that it counts nothing else."""
    with prepared_server() as server, server:
        command = [sys.executable, "-m", "crowdml.bench.device_worker", server.url]
        output = subprocess.run(command, check=True, capture_output=True).stdout
    results = msgspec.json.decode(output, type=dict[str, float])
    return results | {
        "import_s": _import_seconds("import crowdml"),
        "import_device_s": _import_seconds("from crowdml import Device"),
    }


def _import_seconds(statement: str) -> float:
    command = [sys.executable, "-c", IMPORT.format(statement)]
    runs = [subprocess.run(command, check=True, capture_output=True) for _ in range(5)]
    return statistics.median(float(run.stdout) for run in runs)

"""Test the demo's crowd in its processes."""

import multiprocessing
import os
import signal
import time
from pathlib import Path

import numpy as np
import pytest

from crowdml.demo.crowd import PlannedDevice, run_crowd

PATIENCE = 120.0


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="asks Linux about signals")
def test_ctrl_c_is_left_to_the_demo(tmp_path: Path) -> None:
    """Check that processes ignore Ctrl-C.

    A terminal sends Ctrl-C to all of its processes, and each would show a traceback.
    """
    context = multiprocessing.get_context("spawn")
    late = PlannedDevice(0, np.zeros((1, 4)), np.zeros(1), joins_at=600.0, seconds_per_sample=1.0)
    arguments = ([late], "https://127.0.0.1:1", "t", "", tmp_path, False, time.time(), None)
    process = context.Process(target=run_crowd, args=arguments, daemon=True)
    process.start()
    try:
        assert process.pid
        deadline = time.monotonic() + PATIENCE
        while not _ignores_ctrl_c(process.pid) and time.monotonic() < deadline:
            time.sleep(0.05)
        os.kill(process.pid, signal.SIGINT)
        process.join(0.2)
        assert process.is_alive()
    finally:
        process.terminate()
        process.join(PATIENCE)
    assert process.exitcode == -signal.SIGTERM


def _ignores_ctrl_c(pid: int) -> bool:
    status = Path(f"/proc/{pid}/status").read_text()
    ignored = next(line for line in status.splitlines() if line.startswith("SigIgn:"))
    return bool(int(ignored.split()[1], 16) >> (signal.SIGINT - 1) & 1)

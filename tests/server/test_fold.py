"""The fold: no database behind it, and no memory for those who never spoke."""

import subprocess
import sys

import numpy as np
import pytest

from crowdml.protocol import encode_gradient
from crowdml.server.active import ActiveDevices
from crowdml.server.entry import LogEntry
from crowdml.server.fold import Fold
from tests.servers import make_task


def test_the_fold_needs_no_database() -> None:
    """It is a function of the log, for whoever has one."""
    code = "import sys, crowdml.server.fold; print('sqlalchemy' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert ran.stdout == "False\n"


@pytest.mark.parametrize("kind", ["sgd", "average-gradient"])
def test_a_snapshot_is_as_large_for_the_last_of_many_as_for_the_first(kind: str) -> None:
    sizes = []
    for device in (0, 10**9):
        fold = Fold(make_task(optimizer__kind=kind))
        gradient = encode_gradient(np.ones(12, dtype=np.int64))
        fold.apply(LogEntry(1, 1, device, "id", 0, 0, 3, 0, 1, "[1,1,1]", -20, gradient))
        sizes.append(len(fold.to_bytes()))
    assert sizes[0] == sizes[1]


def test_active_devices_are_a_set() -> None:
    rng = np.random.default_rng(0)
    numbers = [*rng.integers(0, 500, 400).tolist(), *rng.integers(0, 2**31, 400).tolist(), 63, 64]
    active = ActiveDevices()
    for i, number in enumerate(numbers):
        active.add(number)
        assert active.count == len(set(numbers[: i + 1]))
        if i % 100 == 0:
            active = ActiveDevices(active.to_array())
    again = ActiveDevices(active.to_array())
    for number in numbers:
        again.add(number)
    assert again.count == active.count == len(set(numbers))


def test_a_large_crowd_takes_little_room() -> None:
    active = ActiveDevices()
    for device in range(100_000):
        active.add(device)
    assert active.to_array().nbytes < 30_000

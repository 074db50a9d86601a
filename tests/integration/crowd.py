"""Run devices in a task whose check-ins show which samples they used."""

import json
import os
import subprocess
import sys
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

import crowdml
from crowdml.device import DeviceStore
from crowdml.privacy import DirectionEvent, NoisePayload
from crowdml.protocol import Task
from crowdml.server.database.log_entry import LogEntry
from crowdml.types import Ints
from tests.support.servers import PATIENCE, FaultyServer, make_direction_task, make_task

DEVICE_PROCESS = Path(__file__).parents[1] / "support" / "device_process.py"
FEATURES = 60
PARITY = ["even", "odd"]


def without_noise(**changes: Any) -> Task:
    """Make a task without noise, so that tests can look inside it."""
    defaults: dict[str, Any] = {
        "features__count": FEATURES,
        "target__labels": PARITY,
        "privacy__epsilon": float("inf"),
        "collection__buffer": 300,
    }
    return make_task(**(defaults | changes))


def numbered(**changes: Any) -> Task:
    """Make the same task for whole people, who may check in often enough for any test."""
    defaults: dict[str, Any] = {
        "features__count": FEATURES,
        "target__labels": PARITY,
        "collection__buffer": 300,
        "collection__checkins": 100,
        "privacy__epsilon": 400.0,
    }
    return make_direction_task(**(defaults | changes))


def uses(log: Iterable[LogEntry]) -> Ints:
    """Count how often each sample was used, over all check-ins.

    A softmax is never certain, so every sample changes its own column.
    """
    total = np.zeros(FEATURES, dtype=np.int64)
    for entry in log:
        noisy = msgspec.msgpack.decode(entry.payload, type=NoisePayload)
        columns = np.frombuffer(noisy.gradient, dtype="<i4").reshape(-1, FEATURES)
        used = columns.any(axis=0)
        assert used.sum() == entry.samples, "otherwise this test is blind"
        total += used
    return total


@dataclass
class Collector:
    """Run one device again and again on the same file."""

    url: str
    folder: Path

    @property
    def file(self) -> Path:
        return self.folder / "device"

    @property
    def diary(self) -> Path:
        return self.folder / "diary"

    @property
    def added(self) -> list[int]:
        """Return the samples that the device has acknowledged."""
        return [int(line) for line in self.diary.read_text().splitlines()]

    def launch(self, samples: Iterable[int], kill: str = "") -> subprocess.Popen[bytes]:
        options = {
            "url": self.url,
            "file": str(self.file),
            "diary": str(self.diary),
            "samples": list(samples),
            "features": FEATURES,
            "kill": kill,
        }
        environment = os.environ | {"PYTHONPATH": str(Path(crowdml.__file__).parents[1])}
        return subprocess.Popen(
            [sys.executable, "-P", str(DEVICE_PROCESS), json.dumps(options)], env=environment
        )

    def run(self, samples: Iterable[int], kill: str = "") -> int:
        return self.launch(samples, kill).wait(PATIENCE)

    def answers(self) -> dict[str, str]:
        with closing(DeviceStore(self.file)) as store:
            return store.answers

    def numbers(self) -> list[int]:
        """Return the numbers in the device's ledger, where the mechanism counts."""
        with closing(DeviceStore(self.file)) as store:
            events = store.ledger.events
        return [event.number for event in events if isinstance(event, DirectionEvent)]

    def waiting(self) -> int:
        with closing(DeviceStore(self.file)) as store:
            return store.n_samples


def log_of(server: FaultyServer) -> list[LogEntry]:
    with server.store() as store:
        return list(store.log(store.task("activity").id))

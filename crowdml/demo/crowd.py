"""Run a crowd: many devices in one process, each with its own file, token, ledger and noise."""

import multiprocessing
import signal
import time
from dataclasses import dataclass
from multiprocessing.queues import Queue
from pathlib import Path
from typing import Any

import numpy as np

from crowdml.demo.launcher import HUNG_AFTER_SECONDS
from crowdml.device import Device, Outcome
from crowdml.errors import Unreachable
from crowdml.types import Array, Ints


@dataclass(frozen=True)
class PlannedDevice:
    """Describe a device that will take part: its samples, and when it joins."""

    number: int
    x: Array
    y: Array
    joins_at: float
    seconds_per_sample: float


@dataclass(frozen=True)
class EpsilonsSpent:
    """Hold the largest ε that any sample and any person has lost, by their ledgers."""

    per_sample: float
    per_person: float


def run_crowd(
    members: list[PlannedDevice],
    url: str,
    task: str,
    fingerprint: str,
    folder: Path,
    accept_no_privacy: bool,
    start: float,
    spent_queue: "Queue[EpsilonsSpent]",
) -> None:
    """Let every member join at its time, feed it its samples, and report its ledger.

    Args:
        folder: The folder of the devices' files, with a folder for each person.
        accept_no_privacy: Whether the person behind the demo asked for ε = ∞.
        start: The moment, on the clock of `time.time`, that `joins_at` counts from.
    """
    if multiprocessing.parent_process():
        # Ctrl-C reaches every process of the terminal; the demo ends these processes itself.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    devices: dict[int, Device] = {}
    for due, member, k in _timetable(members):
        time.sleep(max(0.0, start + due - time.time()))
        if member.number not in devices:
            devices[member.number] = _join(
                url,
                task,
                file=folder / f"{member.number}" / "demo.device",
                fingerprint=fingerprint,
                accept_no_privacy=accept_no_privacy,
            )
        device = devices[member.number]
        if device.ended:
            continue
        label = device.terms.target.labels[int(member.y[k])]
        if device.add(member.x[k], label) is Outcome.CHECKED_IN:
            spent_queue.put(_spent(device))
    for device in devices.values():
        if device.flush(seconds=10.0) is Outcome.CHECKED_IN:
            spent_queue.put(_spent(device))
        device.close()


def _join(url: str, task: str, **options: Any) -> Device:
    """Join the task; try again while the server does not answer, as on a busy machine."""
    end = time.monotonic() + HUNG_AFTER_SECONDS
    while True:
        try:
            return Device.join(url, task, **options)
        except Unreachable:
            if time.monotonic() > end:
                raise
            time.sleep(1.0)


def _timetable(members: list[PlannedDevice]) -> list[tuple[float, PlannedDevice, int]]:
    """List (moment, member, index of the sample), in the order of time."""
    events = [
        (member.joins_at + k * member.seconds_per_sample, member, k)
        for member in members
        for k in range(len(member.y))
    ]
    return sorted(events, key=lambda event: event[0])


def _spent(device: Device) -> EpsilonsSpent:
    ledger = device.ledger
    return EpsilonsSpent(ledger.epsilon_per_sample, ledger.epsilon_per_person)


def plan_devices(
    dealt: list[Ints], x: Array, y: Array, seconds: float, rng: np.random.Generator
) -> list[PlannedDevice]:
    """Make devices that join at random moments of the first three quarters of the time.

    A device sees its samples in the quarter after it joins.
    """
    pace = 0.25 * seconds / max(map(len, dealt))
    joins = rng.uniform(0.0, 0.75 * seconds, size=len(dealt))
    return [
        PlannedDevice(number, x[rows], y[rows], float(joins[number]), pace)
        for number, rows in enumerate(dealt)
    ]

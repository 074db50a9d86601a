"""Turn a sensor's readings into samples, as the task's terms describe it."""

import math
from typing import NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from crowdml.protocol import GAP_SECONDS, GAP_TICKS, Sensor
from crowdml.types import Array

FLOOR = 2.0**-40
"""A bin below this share of the largest reading, for each reading, is rounding: it counts as 0."""


class TakenSample(NamedTuple):
    """Hold a sample with its time and its window."""

    time: float
    window: Array
    x: Array
    y: str | float


class SensingMemory(msgspec.Struct, array_like=True):
    """Hold the state of `Sensing`, so that another process can go on with it."""

    window: list[float] = msgspec.field(default_factory=list)
    start: float = math.nan
    ticks: int = 0
    reading: float = math.nan
    label: str | float | None = None
    newest: float = -math.inf
    last_time: float = -math.inf
    last_label: str | float | None = None


class Sensing:
    """Take readings and labels in the order of time, and return samples when they are due.

    Ticks come `rate` times a second from the first reading on. A tick takes the newest reading
    at its time, and is taken when a later reading arrives. A gap, or a new label, starts a new
    window.

    >>> sensing = Sensing(Sensor("motion", rate=2, window=2, every=1), count=2)
    >>> readings = [(0.0, 1.0), (0.5, 1.0), (1.0, 1.0), (1.5, 3.0), (2.0, 3.0)]
    >>> [[taken.time, *taken.x.tolist()] for t, r in readings for taken in sensing.push(t, r, 0)]
    [[0.5, 1.0, 0.0], [1.5, 0.6666666666666666, 0.3333333333333333]]
    """

    def __init__(self, sensor: Sensor, count: int, memory: SensingMemory | None = None) -> None:
        self._sensor = sensor
        self._count = count
        self.memory = memory or SensingMemory()

    def push(self, time: float, reading: float, label: str | float | None) -> list[TakenSample]:
        """Add a reading, with the label None if unknown; return the samples that it completes.

        A reading that is not a finite number, or not newer than the last one, is skipped.
        """
        memory = self.memory
        if not math.isfinite(reading) or not time > memory.newest:
            return []
        taken = []
        if time - memory.newest > max(GAP_SECONDS, GAP_TICKS / self._sensor.rate):
            memory.window.clear()
            memory.start, memory.ticks = time, 0
        else:
            while (tick := memory.start + memory.ticks / self._sensor.rate) < time:
                memory.ticks += 1
                taken += self._tick(tick)
        if label != memory.label:
            memory.window.clear()
        memory.newest, memory.reading, memory.label = time, reading, label
        return taken

    def _tick(self, time: float) -> list[TakenSample]:
        memory, sensor, label = self.memory, self._sensor, self.memory.label
        memory.window.append(memory.reading)
        del memory.window[: -sensor.window]
        due = len(memory.window) == sensor.window and time - memory.last_time >= sensor.every
        changed = sensor.trigger == "always" or label != memory.last_label
        if label is None or not (due and changed):
            return []
        memory.last_time, memory.last_label = time, label
        window = np.array(memory.window)
        return [TakenSample(time, window, features_of(sensor, self._count, window), label)]


def rarer(sensor: Sensor, every: float | None) -> Sensor:
    """Return the sensor with at least this many seconds between samples, and never fewer."""
    return msgspec.structs.replace(sensor, every=max(sensor.every, every or 0.0))


def features_of(sensor: Sensor, count: int, window: npt.ArrayLike) -> Array:
    """Compute x from one window of readings, or from the numbers entered.

    Paper: Section V-B.

    >>> features_of(Sensor("light", transform="summary", scale=1000), 4, [100.0, 300.0]).tolist()
    [0.2, 0.1, 0.1, 0.3]
    """
    values = np.asarray(window, dtype=np.float64)
    match sensor.transform:
        case "values":
            return values / sensor.scale
        case "summary":
            x = np.array([values.mean(), values.std(), values.min(), values.max()])
            return x / sensor.scale
        case "amplitudes" | "spectrum":
            bins = np.abs(np.fft.fft(values))[:count]
            bins[bins < len(values) * FLOOR * np.abs(values).max()] = 0.0
            bins[0] *= sensor.first_bin
            divisor = bins.sum() if sensor.transform == "spectrum" else sensor.scale
            return bins / divisor if divisor > 0 else bins

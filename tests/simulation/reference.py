"""Simulate the crowd on a clock, as in the paper: slow, with an event list and device objects.

This is written from the description alone, to be compared with the compiled schedule.
"""

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple


class Checkin(NamedTuple):
    """Record a check-in as the server sees it."""

    device: int
    samples: tuple[int, ...]
    version: int
    tick: int


@dataclass
class Device:
    """Follow Device Routine 1."""

    number: int
    buffer: list[int] = field(default_factory=list)
    waiting: bool = False
    asked: int = 0


class Request(NamedTuple):
    device: Device


class Answer(NamedTuple):
    device: Device
    version: int


class Sent(NamedTuple):
    device: Device
    samples: tuple[int, ...]
    version: int


@dataclass
class World:
    """Hold the clock, the messages under way, and the server's list of check-ins."""

    delays: tuple[Sequence[int], Sequence[int], Sequence[int]]
    n_ticks: int
    now: int = 0
    posted: int = 0
    under_way: list[tuple[int, int, Request | Answer | Sent]] = field(default_factory=list)
    counts: dict[type, int] = field(default_factory=dict)
    checkins: list[Checkin] = field(default_factory=list)

    def post(self, message: Request | Answer | Sent) -> None:
        """Send a message with the next delay of its kind; ties keep the order."""
        kind = (Request, Answer, Sent).index(type(message))
        number = self.counts.get(type(message), 0)
        self.counts[type(message)] = number + 1
        when = self.now + self.delays[kind][number]
        heapq.heappush(self.under_way, (when, self.posted, message))
        self.posted += 1

    def deliver(self) -> None:
        """Deliver every message that is due by now."""
        while self.under_way and self.under_way[0][0] <= self.now:
            message = heapq.heappop(self.under_way)[2]
            if isinstance(message, Request):
                self.post(Answer(message.device, version=len(self.checkins)))
            elif isinstance(message, Answer):
                device = message.device
                samples, device.buffer, device.waiting = tuple(device.buffer), [], False
                self.post(Sent(device, samples, message.version))
            else:
                tick = min(self.now + 1, self.n_ticks)
                sender = message.device.number
                self.checkins.append(Checkin(sender, message.samples, message.version, tick))


def run_crowd(
    arrivals: Sequence[tuple[int, int]],
    n_devices: int,
    batch: int,
    delays: tuple[Sequence[int], Sequence[int], Sequence[int]],
    buffer: int | None = None,
    checkins: int | None = None,
) -> list[Checkin]:
    """Feed one (device, sample) per tick; then run the clock until nothing is under way."""
    world = World(delays, n_ticks=len(arrivals))
    devices = [Device(number) for number in range(n_devices)]
    while world.now < len(arrivals) or world.under_way:
        world.deliver()
        if world.now < len(arrivals):
            number, sample = arrivals[world.now]
            device = devices[number]
            if buffer is None or len(device.buffer) < buffer:
                device.buffer.append(sample)
            done = checkins is not None and device.asked == checkins
            if len(device.buffer) >= batch and not device.waiting and not done:
                device.waiting = True
                device.asked += 1
                world.post(Request(device))
            world.deliver()
        world.now += 1
    return world.checkins

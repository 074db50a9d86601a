"""Compute which device checks in when, with which samples, on which version (step one).

The schedule has only integers and does not depend on w, so one schedule serves every ε, rate and λ.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from crowdml.errors import InvalidInput
from crowdml.privacy import ALL_TRAIN, Roles
from crowdml.simulation.schedule.arrivals import Arrivals, Int32s
from crowdml.simulation.schedule.delays import Delay, draw
from crowdml.types import Flags, Ints

NO_LINK = -1

NO_LIARS: Int32s = np.zeros(0, np.int32)


class Schedule(NamedTuple):
    """Hold check-ins in the order in which they reach the server.

    Args:
        start: Check-in i uses the samples `used[start[i]:start[i + 1]]`.
        used: Sample numbers.
        version: How many check-ins the parameters had taken in that i was computed on.
        tick: The clock when i reached the server: samples generated so far.
        arrived: How many samples reached a device.
        checkins: K, the most that a device makes.
        trains: Which of them train; the others evaluate or count, and change nothing.
        updates: T, the training check-ins that the planned rate counts on; None for as many as
            there are.
        heldout: The share of a check-in's samples that only count errors.
        liars: The devices that lie.
    """

    start: Ints
    used: Int32s
    version: Ints
    tick: Ints
    device: Int32s
    batch: int
    arrived: int
    checkins: int
    trains: Flags
    updates: float | None = None
    heldout: float = 0.0
    liars: Int32s = NO_LIARS

    @property
    def n_checkins(self) -> int:
        return len(self.version)

    @property
    def staleness(self) -> Ints:
        """Return how many updates each check-in missed."""
        return np.arange(self.n_checkins) - self.version

    @property
    def training(self) -> "Schedule":
        """Return only the check-ins that train, and their samples, as if there were no others."""
        if self.trains.all() and not self.heldout:
            return self
        before = np.concatenate([[0], np.cumsum(self.trains)])
        sizes = np.diff(self.start)
        kept = np.where(self.trains, sizes - (self.heldout * sizes).astype(np.int64), 0)
        nth = np.arange(len(self.used)) - np.repeat(self.start[:-1], sizes)
        return self._replace(
            start=np.concatenate([[0], np.cumsum(kept[self.trains])]),
            used=self.used[nth < np.repeat(kept, sizes)],
            version=before[self.version[self.trains]],
            tick=self.tick[self.trains],
            device=self.device[self.trains],
            trains=self.trains[self.trains],
        )

    def ended_after(self, updates: int, training: float) -> "Schedule":
        """Keep the first `updates` check-ins, after which a task ends.

        The rate is planned for these check-ins, of which the share `training` trains.
        """
        end = int(self.start[min(updates, self.n_checkins)])
        return self._replace(
            start=self.start[: updates + 1],
            used=self.used[:end],
            version=self.version[:updates],
            tick=self.tick[:updates],
            device=self.device[:updates],
            trains=self.trains[:updates],
            updates=updates * training,
        )


def make_schedule(
    arrivals: Arrivals,
    n_devices: int,
    batch: int,
    delay: Delay | None = None,
    buffer: int | None = None,
    rng: np.random.Generator | None = None,
    checkins: int | None = None,
    roles: Roles = ALL_TRAIN,
) -> Schedule:
    """Run Device Routine 1 of every device over the clock.

    A device with b samples requests w; the request, the answer and the check-in each take their
    delay; samples that arrive meanwhile are buffered and used too, up to B. The version is the one
    that the server has when the request arrives. After K check-ins, if that is given, a device is
    done. Each check-in trains with the probability that its `roles` leave; by default all train.

    Paper: Algorithm 1 and Section IV-B3.

    >>> arrivals = Arrivals(np.array([0, 1, 0, 1], np.int32), np.array([5, 6, 7, 8], np.int32))
    >>> schedule = make_schedule(arrivals, n_devices=2, batch=2)
    >>> schedule.used.tolist(), schedule.version.tolist(), schedule.tick.tolist()
    ([5, 7, 6, 8], [0, 1], [3, 4])
    """
    if batch < 1:
        raise InvalidInput(f"batch must be at least 1, found {batch}.")
    room = 2**31 - 1 if buffer is None else buffer
    if room < batch:
        raise InvalidInput(f"buffer must hold a batch of {batch}, found {buffer}.")
    most = len(arrivals.device) // batch
    rng = rng or np.random.default_rng()
    if delay is None:
        delays = np.zeros((3, 1), dtype=np.int64)
    else:
        delays = np.stack([draw(delay, rng, most) for _ in range(3)])
    horizon = int(delays.max(initial=0)) + 1
    limit = 2**31 - 1 if checkins is None else checkins
    start, used, version, tick, device = _run(
        arrivals.device, arrivals.sample, n_devices, batch, room, limit, delays, horizon, most
    )
    busiest = int(np.bincount(device).max()) if len(device) else 1
    trains = np.ones(len(version), np.bool_)
    if roles.others:
        trains = rng.random(len(version)) >= roles.others
    arrived, most_sent = len(arrivals.device), checkins or busiest
    return Schedule(start, used, version, tick, device, batch, arrived, most_sent, trains)


@njit(cache=True)
def _run(  # type: ignore[no-untyped-def]
    devices, samples, n_devices, batch, room, limit, delays, horizon, most
):
    """Make one pass over the clock, with a ring of buckets for messages on their way.

    A node is either a round trip of a device (it has at most one under way, so its number is the
    device's) or a check-in (n_devices + its number in the order of computing).
    """
    waiting_first = np.full(n_devices, NO_LINK, np.int32)  # the buffer, as a list through ticks
    waiting_last = np.full(n_devices, NO_LINK, np.int32)
    next_tick = np.full(len(devices), NO_LINK, np.int32)
    n_s = np.zeros(n_devices, np.int32)
    asked = np.zeros(n_devices, np.int32)  # requests so far; each becomes a check-in
    away = np.zeros(n_devices, np.uint8)  # 0 at home, 1 request under way, 2 answer under way
    fetched = np.zeros(n_devices, np.int64)  # the version of the answer under way

    first = np.full(horizon, NO_LINK, np.int64)
    last = np.full(horizon, NO_LINK, np.int64)
    after = np.full(n_devices + most, NO_LINK, np.int64)

    computed = 0
    requests = 0
    answers = 0
    c_start = np.zeros(most + 1, np.int64)
    c_used = np.empty(len(devices), np.int32)
    c_version = np.empty(most, np.int64)
    c_device = np.empty(most, np.int32)
    landed = np.empty(most, np.int64)
    tick = np.empty(most, np.int64)
    n_landed = 0
    n_delays = delays.shape[1]

    now = 0
    n_ticks = len(devices)
    under_way = 0
    while now < n_ticks or under_way > 0:
        slot = now % horizon
        arrived = now >= n_ticks
        while True:
            node = first[slot]
            if node == NO_LINK:
                if arrived:
                    break
                # Everything due at this tick has happened; now the sample of this tick arrives.
                arrived = True
                m = devices[now]
                if n_s[m] < room:
                    if waiting_last[m] == NO_LINK:
                        waiting_first[m] = now
                    else:
                        next_tick[waiting_last[m]] = now
                    waiting_last[m] = now
                    n_s[m] += 1
                if n_s[m] >= batch and away[m] == 0 and asked[m] < limit:
                    away[m] = 1
                    asked[m] += 1
                    when = (now + delays[0, requests % n_delays]) % horizon
                    requests += 1
                    _append(first, last, after, when, m)
                    under_way += 1
                continue
            first[slot] = after[node]
            if first[slot] == NO_LINK:
                last[slot] = NO_LINK
            after[node] = NO_LINK
            under_way -= 1
            if node >= n_devices:  # a check-in reaches the server
                landed[n_landed] = node - n_devices
                tick[n_landed] = min(now + 1, n_ticks)
                n_landed += 1
            elif away[node] == 1:  # a request reaches the server
                away[node] = 2
                fetched[node] = n_landed
                when = (now + delays[1, answers % n_delays]) % horizon
                answers += 1
                _append(first, last, after, when, node)
                under_way += 1
            else:  # the answer reaches the device, which uses all its samples
                away[node] = 0
                position = c_start[computed]
                k = waiting_first[node]
                while k != NO_LINK:
                    c_used[position] = samples[k]
                    position += 1
                    k = next_tick[k]
                waiting_first[node] = NO_LINK
                waiting_last[node] = NO_LINK
                n_s[node] = 0
                c_version[computed] = fetched[node]
                c_device[computed] = node
                c_start[computed + 1] = position
                when = (now + delays[2, computed % n_delays]) % horizon
                _append(first, last, after, when, n_devices + computed)
                computed += 1
                under_way += 1
        now += 1

    start = np.zeros(n_landed + 1, np.int64)
    for i in range(n_landed):
        c = landed[i]
        start[i + 1] = start[i] + c_start[c + 1] - c_start[c]
    used = np.empty(start[n_landed], np.int32)
    for i in range(n_landed):
        c = landed[i]
        used[start[i] : start[i + 1]] = c_used[c_start[c] : c_start[c + 1]]
    order = landed[:n_landed]
    return start, used, c_version[order], tick[:n_landed].copy(), c_device[order]


@njit(cache=True)
def _append(first, last, after, slot, node):  # type: ignore[no-untyped-def]
    if last[slot] == NO_LINK:
        first[slot] = node
    else:
        after[last[slot]] = node
    last[slot] = node

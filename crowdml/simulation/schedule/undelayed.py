"""Make schedules without a clock, in which no check-in is late."""

import numpy as np

from crowdml.simulation.schedule.schedule import Schedule
from crowdml.types import Ints


def one_by_one(n: int, batch: int) -> Schedule:
    """Schedule one device that uses n samples in order, a batch at a time, on the newest version.

    >>> one_by_one(5, batch=2).used.tolist()
    [0, 1, 2, 3]
    """
    steps = n // batch
    start = np.arange(steps + 1, dtype=np.int64) * batch
    version, device = np.arange(steps, dtype=np.int64), np.zeros(steps, np.int32)
    used, everyone = np.arange(steps * batch, dtype=np.int32), np.ones(steps, np.bool_)
    return Schedule(start, used, version, start[1:], device, batch, n, max(1, steps), everyone)


def person_by_person(person: Ints, checkins: int, rng: np.random.Generator) -> Schedule:
    """Schedule K check-ins of about equal size for each person, or one per sample if n < K.

    Check-ins come in random order, each on the newest version.

    b is what a check-in has on average.

    >>> schedule = person_by_person(np.array([7, 7, 8, 7]), 2, np.random.default_rng(0))
    >>> np.diff(schedule.start).tolist(), sorted(schedule.used.tolist()), schedule.batch
    ([1, 1, 2], [0, 1, 2, 3], 1)
    """
    device = np.unique(person, return_inverse=True)[1]
    rows = rng.permutation(len(person))
    rows = rows[np.argsort(device[rows], kind="stable")]
    sizes = np.bincount(device)
    nth = np.arange(len(rows)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    part = nth * np.repeat(np.minimum(sizes, checkins), sizes) // np.repeat(sizes, sizes)
    message = np.unique(device[rows] * checkins + part, return_inverse=True)[1]
    n = int(message.max()) + 1
    turn = rng.permutation(n)[message]
    sender = np.empty(n, np.int32)
    sender[turn] = device[rows]
    start = np.concatenate([[0], np.cumsum(np.bincount(turn))]).astype(np.int64)
    return Schedule(
        start=start,
        used=rows[np.argsort(turn, kind="stable")].astype(np.int32),
        version=np.arange(n),
        tick=start[1:],
        device=sender,
        batch=max(1, round(len(rows) / n)),
        arrived=len(rows),
        checkins=checkins,
        trains=np.ones(n, np.bool_),
    )

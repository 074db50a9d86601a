"""Compare the compiled schedule with the reference, check-in by check-in."""

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crowdml.errors import InvalidInput
from crowdml.privacy import Roles
from crowdml.simulation.schedule.arrivals import Arrivals, arrive
from crowdml.simulation.schedule.delays import (
    Delay,
    constant_delay,
    draw,
    exponential_delay,
    lognormal_delay,
    uniform_delay,
)
from crowdml.simulation.schedule.schedule import Schedule, make_schedule
from crowdml.simulation.schedule.undelayed import person_by_person
from tests.simulation.reference import Checkin, run_crowd

delays = st.one_of(
    st.none(),
    st.floats(0, 60).map(uniform_delay),
    st.integers(0, 30).map(constant_delay),
    st.floats(0, 30).map(exponential_delay),
    st.floats(0, 10).map(lognormal_delay),
)
presences = st.just((0.0, 0.0)) | st.tuples(st.floats(0, 1), st.floats(0, 1))
sizes = st.tuples(st.integers(1, 12), st.integers(1, 80), st.integers(1, 3))


def random_arrivals(
    size: tuple[int, int, int], presence: tuple[float, float], rng: np.random.Generator
) -> Arrivals:
    n_devices, n_samples, passes = size
    return arrive(rng.integers(n_devices, size=n_samples).astype(np.int32), passes, rng, *presence)


def as_checkins(schedule: Schedule) -> list[Checkin]:
    samples = np.split(schedule.used, schedule.start[1:-1])[: schedule.n_checkins]
    return [
        Checkin(int(device), tuple(used.tolist()), int(version), int(tick))
        for device, used, version, tick in zip(
            schedule.device, samples, schedule.version, schedule.tick, strict=True
        )
    ]


def reference(arrivals: Arrivals, case: "Case") -> list[Checkin]:
    rng, most = np.random.default_rng(case.seed), len(arrivals.device) // case.batch
    zeros, delay = [0] * most, case.delay
    drawn = [zeros if delay is None else draw(delay, rng, most).tolist() for _ in range(3)]
    pairs = list(zip(arrivals.device.tolist(), arrivals.sample.tolist(), strict=True))
    messages = (drawn[0], drawn[1], drawn[2])
    return run_crowd(pairs, case.size[0], case.batch, messages, case.room, case.checkins)


class Case(NamedTuple):
    size: tuple[int, int, int]
    batch: int
    delay: Delay | None
    spare: int | None
    presence: tuple[float, float]
    seed: int
    checkins: int | None

    @property
    def room(self) -> int | None:
        return None if self.spare is None else self.batch + self.spare

    def run(self) -> tuple[Arrivals, Schedule]:
        arrivals = random_arrivals(self.size, self.presence, np.random.default_rng(self.seed))
        rng = np.random.default_rng(self.seed)
        schedule = make_schedule(
            arrivals, self.size[0], self.batch, self.delay, self.room, rng, checkins=self.checkins
        )
        return arrivals, schedule


spares = st.none() | st.integers(0, 4)
limits = st.none() | st.integers(1, 3)
cases = st.builds(Case, sizes, st.integers(1, 7), delays, spares, presences, st.integers(0), limits)


@settings(deadline=None, max_examples=400)
@given(cases)
def test_schedule_is_the_references(case: Case) -> None:
    arrivals, schedule = case.run()
    assert as_checkins(schedule) == reference(arrivals, case)
    sent = np.bincount(schedule.device, minlength=1).max()
    assert sent <= schedule.checkins == (case.checkins or max(1, sent))
    assert schedule.arrived == len(arrivals.sample)


@settings(deadline=None, max_examples=100)
@given(cases)
def test_samples_are_used_once_per_arrival_on_a_version_that_existed(case: Case) -> None:
    arrivals, schedule = case.run()
    n = case.size[1]
    arrived, used = (np.bincount(s, minlength=n) for s in (arrivals.sample, schedule.used))
    assert (used <= arrived).all()
    owner = dict(zip(arrivals.sample.tolist(), arrivals.device.tolist(), strict=True))
    for checkin in as_checkins(schedule):
        assert case.batch <= len(checkin.samples) <= (case.room or math.inf)
        assert {owner[sample] for sample in checkin.samples} == {checkin.device}
    assert (schedule.version >= 0).all()
    assert (schedule.staleness >= 0).all()
    assert (np.diff(schedule.tick) >= 0).all()
    if case.delay is None:
        assert (schedule.staleness == 0).all()
        assert (np.diff(schedule.start) == case.batch).all()


@settings(deadline=None, max_examples=60)
@given(cases, st.floats(0.01, 0.9))
def test_check_ins_of_other_roles_leave_no_trace_in_training(case: Case, share: float) -> None:
    """Check that a version counts only earlier check-ins that train.

    What a version is computed on stays the same.
    """
    arrivals, _ = case.run()
    rng = np.random.default_rng(case.seed)
    everyone = make_schedule(
        arrivals,
        case.size[0],
        case.batch,
        case.delay,
        case.room,
        rng,
        roles=Roles(share / 2, share / 2),
    )
    kept = everyone.trains.tolist()
    expected = [
        checkin._replace(version=sum(kept[: checkin.version]))
        for checkin, trains in zip(as_checkins(everyone), kept, strict=True)
        if trains
    ]
    assert as_checkins(everyone.training) == expected
    assert everyone.training.checkins == everyone.checkins
    assert everyone.training.trains.all()


def test_the_share_that_trains_is_kept() -> None:
    """Check the share by Hoeffding: off by more than 0.033 with probability ≤ 2e-9."""
    arrivals = arrive(np.arange(10_000, dtype=np.int32), 1, np.random.default_rng(0))
    schedule = make_schedule(arrivals, 10_000, 1, roles=Roles(0.15, 0.05))
    assert abs(schedule.trains.mean() - 0.8) < 0.033


def test_staleness_is_as_the_paper_says() -> None:
    """Compare with (τ_co + τ_ci)·M·F_s/b.

    Delays have a mean of τ/2 each, and M·F_s is one sample a tick.
    """
    rng, n_devices, batch, longest = np.random.default_rng(0), 4000, 5, 100.0
    arrivals = arrive(np.repeat(np.arange(n_devices, dtype=np.int32), 40), 1, rng)
    schedule = make_schedule(arrivals, n_devices, batch, uniform_delay(longest), None, rng)
    with_plan = schedule.staleness[schedule.n_checkins // 4 : schedule.n_checkins * 3 // 4]
    # A little less, because samples that arrive during a round trip enlarge some minibatches.
    assert 0.95 < with_plan.mean() / ((longest / 2 + longest / 2) / batch) < 1.01


def test_steady_crowd_has_the_papers_staleness() -> None:
    """Check b = 1, where check-ins are as even as samples: the mean is (τ_co + τ_ci)·M·F_s/b."""
    rng, n_devices = np.random.default_rng(0), 20_000
    arrivals = arrive(np.repeat(np.arange(n_devices, dtype=np.int32), 2), 1, rng)
    schedule = make_schedule(arrivals, n_devices, 1, uniform_delay(100.0), None, rng)
    assert schedule.staleness[1000:-1000].mean() == pytest.approx(100.0, rel=0.03)


def test_everyone_late_misses_samples_and_nobody_leaving_keeps_them() -> None:
    owners = np.arange(5000, dtype=np.int32) % 500
    rng = np.random.default_rng(0)
    late = arrive(owners, 1, rng, late=1.0)
    # A device that joins uniformly late sees half of its samples, within 6 standard errors.
    assert abs(len(late.sample) / 5000 - 0.5) < 6 * math.sqrt(1 / 12 / 500 + 1 / 4 / 5000)
    assert len(arrive(owners, 1, rng).sample) == 5000


def test_seeded_schedules_repeat() -> None:
    arrivals = arrive(np.zeros(50, np.int32), 1, np.random.default_rng(0))
    one, two, other = (
        make_schedule(arrivals, 1, 1, uniform_delay(9), None, np.random.default_rng(seed))
        for seed in (1, 1, 2)
    )
    assert as_checkins(one) == as_checkins(two)
    assert as_checkins(one) != as_checkins(other)


def broken(rng: np.random.Generator, n: int) -> npt.ArrayLike:
    return np.full(n, -1.0)


@pytest.mark.parametrize(
    ("batch", "room", "delay", "says"),
    [
        (0, None, None, "batch must be at least 1, found 0"),
        (3, 2, None, "buffer must hold a batch of 3, found 2"),
        (1, None, broken, "a delay must give 4 finite numbers that are not negative"),
    ],
)
def test_nonsense_is_rejected(batch: int, room: int | None, delay: Delay | None, says: str) -> None:
    arrivals = Arrivals(np.zeros(4, np.int32), np.arange(4, dtype=np.int32))
    with pytest.raises(InvalidInput, match=says):
        make_schedule(arrivals, 1, batch, delay, room)


@pytest.mark.parametrize("ticks", [-1.0, math.inf, math.nan])
def test_impossible_delays_are_rejected(ticks: float) -> None:
    with pytest.raises(InvalidInput, match="a delay must lie in 0"):
        uniform_delay(ticks)


@given(
    person=st.lists(st.integers(0, 5), min_size=1, max_size=40),
    checkins=st.integers(1, 5),
    seed=st.integers(0, 99),
)
def test_person_by_person(person: list[int], checkins: int, seed: int) -> None:
    """Check that every sample is used once, by one person, in at most K check-ins per person."""
    owners = np.array(person)
    schedule = person_by_person(owners, checkins, np.random.default_rng(seed))
    assert sorted(schedule.used.tolist()) == list(range(len(person)))
    lengths = np.diff(schedule.start)
    for i, number in enumerate(schedule.device.tolist()):
        mine = owners[schedule.used[schedule.start[i] : schedule.start[i + 1]]]
        assert set(mine) == {np.unique(owners)[number]}
    for number, n in enumerate(np.unique(owners, return_counts=True)[1].tolist()):
        made = lengths[schedule.device == number]
        assert len(made) == min(n, checkins)
        assert made.max() - made.min() <= 1
    assert (schedule.staleness == 0).all()

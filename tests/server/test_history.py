"""The course of a task: bounded, the same after a restart, and equal to a plain count."""

import io
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from crowdml.protocol import encode_gradient
from crowdml.server import Store
from crowdml.server.entry import LogEntry
from crowdml.server.fold import Fold
from crowdml.server.history import MOST_MINUTES, MOST_POINTS, History, Point
from crowdml.server.learner import Learner
from crowdml.server.reports import course, devices
from tests.servers import make_task


def entry(seq: int, device: int = 0, late: int = 0) -> LogEntry:
    gradient = encode_gradient(np.zeros(12, dtype=np.int64))
    version = max(0, seq - 1 - late)
    return LogEntry(
        1, seq, device, f"id-{seq:016}", 60 * (seq // 50), version, 3, 0, seq % 3, "[1,1,1]", -20,
        gradient,
    )  # fmt: skip


def test_points_stay_few_and_even() -> None:
    history = History()
    for version in range(1, 100_001):
        if history.wants(version):
            history.add(Point(version, *[0] * 9))
    versions = [point.version for point in history.points]
    assert MOST_POINTS // 2 <= len(versions) <= MOST_POINTS
    assert len(set(np.diff(versions).tolist())) == 1


def test_minutes_of_a_day_are_kept() -> None:
    history = History()
    for minute in range(MOST_MINUTES + 100):
        history.count(60 * minute)
    assert len(history.by_minute) == MOST_MINUTES
    assert min(history.by_minute) == 100 * 60


def test_points_tell_what_the_log_tells() -> None:
    fold = Fold(make_task())
    log = [entry(seq, device=seq % 7, late=seq % 4) for seq in range(1, 701)]
    for line in log:
        fold.apply(line)
    for point in fold.history.points:
        so_far = log[: point.version]
        assert point.samples == 3 * len(so_far)
        assert point.errors == sum(line.errors for line in so_far)
        assert point.recent_errors == sum(line.errors for line in so_far[-200:])
        assert point.recent_checkins == min(200, len(so_far))
        assert point.staleness == sum(line.seq - 1 - line.version for line in so_far)
        assert point.active_devices == min(7, len(so_far))
    assert sum(fold.history.by_minute.values()) == 700


def test_a_restart_changes_nothing(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'a.db'}"
    with closing(Store(url)) as store:
        row = store.create_task(make_task())
        for _ in range(3):
            store.enrol(row.id, None, False)
        log = store.log(row.id)
        log.append([entry(seq, device=seq % 3, late=1) for seq in range(1, 601)])
        whole = Learner(row, log, snapshot_every=10**9)
        whole.save_snapshot()
        log.append([entry(seq, device=seq % 3) for seq in range(601, 1302)])
        resumed = Learner(row, log, snapshot_every=10**9)
        plain = Fold(row.task)
        for line in log:
            plain.apply(line)
        assert course(resumed).points[:-1] == plain.history.points
        assert course(resumed).points[-1].version == 1301
        assert course(resumed).by_minute == plain.history.by_minute
        (first, did), (second, other) = devices(store, row.id, 1, 10)
        assert (first.number, second.number) == (1, 2)
        assert did == (434, 3 * 434, 199 / 434, 60 * (1300 // 50))
        assert other == (434, 3 * 434, 200 / 434, 60 * (1301 // 50))


def test_a_task_without_check_ins_has_no_course(tmp_path: Path) -> None:
    with closing(Store(f"sqlite:///{tmp_path / 'a.db'}")) as store:
        row = store.create_task(make_task())
        store.enrol(row.id, None, False)
        learner = Learner(row, store.log(row.id), snapshot_every=10)
        assert course(learner).points == []
        ((_, did),) = devices(store, row.id, 0, 10)
        assert did == (0, 0, 0.0, None)


@pytest.mark.parametrize("damage", ["another format", "not an archive", "cut off"])
def test_a_snapshot_that_cannot_be_read_costs_nothing(tmp_path: Path, damage: str) -> None:
    with closing(Store(f"sqlite:///{tmp_path / 'a.db'}")) as store:
        row = store.create_task(make_task())
        log = store.log(row.id)
        log.append([entry(seq) for seq in range(1, 51)])
        whole = Learner(row, log, snapshot_every=10**9).settled().to_bytes()
        old = io.BytesIO()
        np.savez(old, w=np.zeros(12), numbers=np.array([50, 0, 0]))
        broken = {"another format": old.getvalue(), "not an archive": b"?", "cut off": whole[:999]}
        log.save_snapshot(50, broken[damage])
        assert Learner(row, log, snapshot_every=10**9).settled().to_bytes() == whole

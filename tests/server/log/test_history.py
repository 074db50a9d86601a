"""Test that a task's history is bounded, the same after a restart, and equal to a plain count."""

import io
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from crowdml.protocol import Task, terms_hash
from crowdml.server import Store
from crowdml.server.log.fold import Fold
from crowdml.server.log.history import (
    MOST_MINUTES,
    MOST_POINTS,
    HistoryRecorder,
    Point,
    error_is_due,
)
from crowdml.server.log.learner import Learner
from tests.server.learners import enlist, entry, replayed
from tests.support.servers import make_direction_task, make_task


def test_points_stay_few_and_even() -> None:
    history = HistoryRecorder()
    for version in range(1, 100_001):
        if history.is_due(version):
            history.add(Point(version, 0, 0))
    versions = [point.version for point in history.points]
    assert MOST_POINTS // 2 <= len(versions) <= MOST_POINTS
    assert len(set(np.diff(versions).tolist())) == 1


def test_minutes_of_a_day_are_kept() -> None:
    history = HistoryRecorder()
    for minute in range(MOST_MINUTES + 100):
        history.count({60 * minute: 1})
    assert len(history.minutes.by_minute) == MOST_MINUTES
    assert min(history.minutes.by_minute) == 100 * 60


def test_points_match_the_log() -> None:
    task = make_task()
    fold = Fold(task, terms_hash(task.terms.text))
    log = [entry(task, seq, device=seq % 7, late=seq % 4) for seq in range(1, 701)]
    for line in log:
        fold.apply(line)
    for point in fold.history.points:
        assert point.staleness == sum(line.staleness for line in log[: point.version])
        assert point.active_devices == min(7, point.version)
    assert sum(fold.history.minutes.by_minute.values()) == 700


def test_errors_describe_the_model_at_that_time() -> None:
    """Check that counted answers are not reports, and that later check-ins change nothing."""
    shares: dict[str, Any] = {"collection__evaluators": 0.7, "collection__counters": 0.2}
    task = make_direction_task(collection__checkins=1000, privacy__epsilon=4000.0, **shares)
    fold, sha256 = Fold(task, terms_hash(task.terms.text)), terms_hash(task.terms.text)
    log = [entry(task, seq, device=seq % 40, number=1 + seq // 40) for seq in range(1, 401)]
    fold.apply(*log)
    evaluates = sum("wrong" in msgspec.msgpack.decode(line.payload) for line in log)
    assert len(fold.learning.reports) == evaluates < 350
    versions = [point.version for point in fold.history.errors]
    wanted = [version for version in range(1, 401) if error_is_due(version)]
    assert set(versions) <= set(wanted)
    assert versions[-10:] == wanted[-10:], "once it is known, it stays known"
    for point in fold.history.errors[::5]:
        before = Fold(task, sha256)
        before.apply(*log[: point.version])
        now = before.error()
        assert now is not None
        assert point == (point.version, now.value, now.margin)


@pytest.mark.parametrize("make", [make_task, make_direction_task])
def test_a_restart_changes_nothing(tmp_path: Path, make: Callable[..., Task]) -> None:
    numbered = {"collection__checkins": 1000} if make is make_direction_task else {}
    task = make(**numbered)
    with closing(Store(f"sqlite:///{tmp_path / 'a.db'}")) as store:
        row = store.create_task(task)
        enlist(store, task)
        log = store.log(row.id)
        lines = [
            entry(task, seq, device=seq % 3, late=int(seq < 601), number=1 + seq // 3)
            for seq in range(1, 1302)
        ]
        log.append(lines[:600])
        whole = Learner(row, log, snapshot_every=10**9)
        whole.save_snapshot()
        log.append(lines[600:])
        resumed = Learner(row, log, snapshot_every=10**9)
        plain = replayed(store, task)
        assert resumed.published.history.points[:-1] == plain.history.points
        assert resumed.published.history.points[-1].version == 1301
        assert resumed.published.history.errors[:-1] == plain.history.errors
        assert resumed.published.history.by_minute == plain.history.minutes.by_minute
        for device, did in log.by_device(range(1, 3)).items():
            own = [line for line in lines if line.device == device]
            samples = [line.samples for line in own if line.samples is not None]
            late = sum(line.staleness for line in own)
            newest = max(line.at for line in own)
            assert did == (434, sum(samples) if samples else None, late / 434, newest)


def test_a_task_without_check_ins_has_no_course(tmp_path: Path) -> None:
    with closing(Store(f"sqlite:///{tmp_path / 'a.db'}")) as store:
        row = store.create_task(make_task())
        store.enrol(row.id, None, False)
        learner = Learner(row, store.log(row.id), snapshot_every=10)
        assert learner.published.history.points == ()
        assert store.log(row.id).by_device([0]) == {}


@pytest.mark.parametrize("damage", ["another format", "not an archive", "cut off"])
def test_a_snapshot_that_cannot_be_read_costs_nothing(tmp_path: Path, damage: str) -> None:
    task = make_direction_task(collection__checkins=100)
    with closing(Store(f"sqlite:///{tmp_path / 'a.db'}")) as store:
        row = store.create_task(task)
        enlist(store, task)
        log = store.log(row.id)
        log.append([entry(task, seq, number=seq) for seq in range(1, 51)])
        whole = Learner(row, log, snapshot_every=10**9).committed_fold().to_bytes()
        old = io.BytesIO()
        np.savez(old, w=np.zeros(12), numbers=np.array([50, 0, 0]))
        broken = {"another format": old.getvalue(), "not an archive": b"?", "cut off": whole[:999]}
        log.save_snapshot(50, broken[damage])
        assert Learner(row, log, snapshot_every=10**9).committed_fold().to_bytes() == whole

"""Test limits on frequency on arrival and at commit, with counts that survive a failed commit."""

from contextlib import suppress
from typing import Any

import pytest
import sqlalchemy as sa

from crowdml.errors import Rejected
from crowdml.protocol import CheckinAnswer
from crowdml.server import Store
from crowdml.server.database.log_entry import this_minute
from crowdml.server.log.frequency import Frequency
from crowdml.server.throttle import BURST
from tests.server.learners import arrivals, new_learner, reopened
from tests.support.servers import Start, checkin, enrol, make_task, problem_kind

PACE = 5
MOST = PACE + BURST
OURS = make_task(enrolment__checkins_per_minute=PACE)


def may(limits: Frequency, device: int, at: int) -> bool:
    return limits.rejection(device, at) is None


def test_a_minute_has_the_pace_and_a_burst() -> None:
    limits = Frequency(OURS)
    for _ in range(MOST):
        assert may(limits, 1, at=60)
        limits.reserve(1, at=60)
    assert not may(limits, 1, at=60)
    assert may(limits, 2, at=60)
    assert may(limits, 1, at=120)


def test_what_was_not_appended_does_not_count() -> None:
    limits = Frequency(OURS)
    for _ in range(MOST - 1):
        limits.count(1, 60)
    for failures in range(3):
        limits.reserve(1, 60)
        assert not may(limits, 1, 60), failures
        assert limits.unconfirmed
        limits.release(())
        assert may(limits, 1, 60), failures
    limits.reserve(1, 60)
    limits.confirm()
    limits.release(())
    assert not may(limits, 1, 60), "what is in the log stays"


def test_what_is_taken_back_in_a_later_minute_costs_nothing() -> None:
    limits = Frequency(OURS)
    limits.reserve(1, 60)
    limits.count(2, 120)
    assert limits.unconfirmed, "the share of the newest check-ins is not taken back yet"
    limits.release(())
    assert not limits.unconfirmed
    for _ in range(MOST):
        assert may(limits, 1, 120)
        limits.count(1, 120)
    assert not may(limits, 1, 120)


def test_shares_match_the_log_again() -> None:
    free = Frequency(make_task(enrolment__checkins_per_minute=None))
    newest = [(device, 60) for device in range(100, 300)]
    free.recount(newest)
    for _ in range(10):
        free.reserve(1, 60)
    assert not may(free, 1, 60)
    free.release(newest)
    assert may(free, 1, 60)


@pytest.fixture
def within_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the minute from ending between two check-ins."""
    monkeypatch.setattr("crowdml.server.log.decision.this_minute", lambda: this_minute(6000.0))


@pytest.mark.usefixtures("within_a_minute")
@pytest.mark.parametrize("snapshot_every", [1, 1000])
def test_a_restart_forgets_nothing(store: Store, snapshot_every: int) -> None:
    learner = new_learner(store, OURS, snapshot_every)
    *some, last = arrivals(OURS, 3 * MOST + 3)[::3]
    answers = [learner.ingest([each])[0] for each in some]
    assert all(isinstance(answer, CheckinAnswer) for answer in answers)
    (rejected,) = reopened(store, OURS).ingest([last])
    assert isinstance(rejected, Rejected)
    assert rejected.kind == "too-frequent"


@pytest.mark.usefixtures("within_a_minute")
@pytest.mark.parametrize("step", ["append", "apply"])
def test_a_failed_commit_costs_a_device_nothing(
    store: Store, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    """Check any number of full disks, before or after the rows are written."""
    learner = new_learner(store, OURS)
    (one, *_) = some = arrivals(OURS, 3 * MOST + 3)[::3]

    def fail(*_: Any) -> None:
        raise sa.exc.OperationalError(None, None, OSError("disk full"))

    for _ in range(MOST):
        with monkeypatch.context() as broken:
            place = learner._log if step == "append" else learner.committed_fold()
            broken.setattr(place, step, fail)
            with suppress(sa.exc.OperationalError):
                learner.ingest([one])
    answers = [learner.ingest([each])[0] for each in some]
    assert [isinstance(each, CheckinAnswer) for each in answers] == [True] * MOST + [False]


def test_rejected_check_ins_count_at_the_door(start: Start) -> None:
    """Check that rejections come before bodies are read, so they cost little.

    Other devices are not affected.
    """
    server = start(make_task(enrolment__checkins_per_minute=1.0))
    with server.connected() as wire:
        token = enrol(wire)
        replies = [
            wire.call("POST", "/v1/tasks/activity/checkins", b"{}", token) for _ in range(BURST + 1)
        ]
        kinds = [problem_kind(reply) for reply in replies]
        assert kinds == ["invalid-request"] * BURST + ["too-frequent"]
        other = enrol(wire)
        body = checkin(make_task(enrolment__checkins_per_minute=1.0))
        assert wire.call("POST", "/v1/tasks/activity/checkins", body, other).status == 200

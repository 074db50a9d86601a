"""Let a crowd learn over real HTTPS, also through outages."""

from contextlib import ExitStack
from pathlib import Path

import msgspec
import numpy as np
import pytest

from crowdml.cli.task.named_start import read_named_start
from crowdml.device import Device, Outcome
from crowdml.learnt import write_start
from crowdml.privacy import Limits
from crowdml.protocol import Task
from crowdml.server.operation.backup import back_up, restore
from tests.integration.crowd import log_of
from tests.protocol.files import task_file
from tests.protocol.starts import make_start
from tests.support.servers import (
    LABELS,
    FaultyServer,
    Start,
    make_direction_task,
    make_task,
    recompute,
)

LIMITS = Limits(1e9, 1e9)
PILOT: dict[str, str | None] = {
    "target.labels": '["still", "walk", "run"]',
    "privacy.mechanism": '"direction"',
    "privacy.epsilon": "100.0",
    "collection.checkins": "10",
    "optimizer.rate": None,
    "enrolment.checkins_per_minute": "1e6",
}


def joined(stack: ExitStack, server: FaultyServer, folder: Path, n: int) -> list[Device]:
    return [
        stack.enter_context(
            Device.join(
                server.url, "activity", file=folder / str(i), limits=LIMITS,
                fingerprint=server.fingerprint, accept_no_privacy=True,
            )
        )
        for i in range(n)
    ]  # fmt: skip


def test_a_crowd_learns_until_its_task_ends(start: Start, tmp_path: Path) -> None:
    """Learn three classes, each on its own feature, with enough samples to overcome the noise.

    With ε = 50 a sample and minibatches of 10, the noise of a step is a few percent of its signal.
    60 steps leave the worst of three scores more than 20 standard deviations clear, so the
    probability of a wrong answer at the end is far below 1e-8.
    """
    task = make_task(
        features__count=3, collection__batch=10, privacy__epsilon=50.0,
        optimizer__c=2.0, stop__updates=60,
    )  # fmt: skip
    server = start(task, tls="self-signed")
    with ExitStack() as stack:
        devices = joined(stack, server, tmp_path, 3)
        outcomes = {
            device.add(np.eye(3)[i % 3], LABELS[i % 3]) for i in range(210) for device in devices
        }  # fmt: skip
        assert Outcome.CHECKED_IN in outcomes
        assert [device.sync() for device in devices] == [Outcome.ENDED] * 3
        assert all("all its check-ins are in" in (device.ended or "") for device in devices)
    fold = recompute(server.database)
    assert fold.version == 60
    assert fold.model.predict(fold.exported, np.eye(3)).tolist() == [0, 1, 2]


def test_people_learn_together(start: Start, tmp_path: Path) -> None:
    """Let six people learn with ten check-ins of one small number each, as far as they agreed.

    A step is S·v/m: along the gradient's direction it has the length S, and in every other
    direction noise with a standard deviation of S/m = S/3.1 at ε = 10. With c/√t steps of 48
    check-ins that train, a score is 9 standard deviations clear of the next; with only 25 of them,
    which happens with a probability below 1e-9, it is 6.9. So the probability of a wrong answer at
    the end is below 1e-8.
    """
    task = make_direction_task(
        features__count=3, collection__batch=10, privacy__epsilon=100.0, optimizer__c=4.8
    )
    server = start(task, tls="self-signed", snapshot_every=13)
    with ExitStack() as stack:
        devices = joined(stack, server, tmp_path, 6)
        for i in range(100):
            outcomes = {device.add(np.eye(3)[i % 3], LABELS[i % 3]) for device in devices}
        assert outcomes == {Outcome.CHECKED_IN}
        for device in devices:
            assert "all check-ins" in (device.ended or "")
            assert device.add(np.eye(3)[0], LABELS[0]) is Outcome.ENDED
            assert device.ledger.epsilon_per_person == pytest.approx(100.0), (
                "the total that was agreed"
            )
        names = {device.identity.device for device in devices}
    log = log_of(server)
    assert {entry.name for entry in log} == names
    assert sorted((entry.device, entry.number) for entry in log) == [
        (device, number) for device in range(6) for number in range(1, 11)
    ]
    with server.connected() as wire:
        document = wire.get("/v1/tasks/activity/export?format=json").json()
        statistics = wire.get("/v1/tasks/activity/stats").json()
    fold = recompute(server.database)
    assert np.array(document["weights"]).tobytes() == fold.exported.tobytes()
    assert fold.version == statistics["version"] == 60
    assert statistics["samples"] is None
    assert statistics["error"] == msgspec.to_builtins(fold.error())
    assert fold.model.predict(fold.exported, np.eye(3)).tolist() == [0, 1, 2]


def test_a_crowd_goes_on_from_a_pilot_and_the_next_task_from_the_crowd(
    start: Start, tmp_path: Path
) -> None:
    """Start from a pilot's file, verify it on devices over HTTP, and reuse the learnt model."""
    pilot = make_start(rows=200, people=4, norm=2)
    (tmp_path / "a.start.npz").write_bytes(write_start(pilot))
    text = task_file(PILOT | {"model.start": '"a.start.npz"'})
    task = Task.from_toml(text, start=read_named_start(text, tmp_path / "a.toml"))
    server = start(task)
    with Device.join(
        server.url, "activity", file=tmp_path / "d", limits=LIMITS, accept_no_privacy=True
    ) as device:
        outcomes = {device.add(np.eye(4)[i % 3], LABELS[i % 3]) for i in range(100)}
        assert Outcome.CHECKED_IN in outcomes
    fold = recompute(server.database)
    assert fold.version == 10
    assert np.linalg.norm(fold.w - pilot.w) > 0
    text = task_file(PILOT | {"model.start": f'"{server.url}/tasks/activity"'})
    after = read_named_start(text, tmp_path / "b.toml")
    assert after is not None
    assert (after.distance, after.rows) == (None, None)
    assert Task.from_toml(text, start=after).w0 == pytest.approx(fold.exported, rel=1e-6)
    restored = f"sqlite:///{tmp_path}/restored.db"
    back_up(server.database, tmp_path / "backup.zip")
    restore(restored, tmp_path / "backup.zip")
    assert recompute(restored).w.tobytes() == fold.w.tobytes()

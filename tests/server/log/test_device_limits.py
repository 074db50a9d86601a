"""Test what one device can do to a model: its pace, its share of check-ins, its step length."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec
import numpy as np
import pytest

from crowdml.errors import Rejected
from crowdml.models import Minibatch
from crowdml.privacy import CheckinKey, NoiseMechanism, NoisePayload
from crowdml.protocol import CheckinAnswer, Task
from crowdml.server import Store
from crowdml.server.database.log_entry import LogEntry
from crowdml.server.log.device_shares import COUNTED_SECONDS, DeviceShares
from crowdml.server.log.fold import Fold
from crowdml.simulation.datasets import load_activity
from tests.privacy.seeded_chance import SeededChance
from tests.server.learners import arrivals, assert_same, new_learner, reopened
from tests.support.servers import make_direction_task, make_task

SENSED: dict[str, Any] = {
    "features__sensor.kind": "motion",
    "enrolment__checkins_per_minute": None,
}


# The pace of a device


@pytest.mark.parametrize(
    ("every", "batch", "pace"), [(30.0, 10, 0.4), (60.0, 1, 2.0), (0.5, 1, 60.0), (0.0, 10, 60.0)]
)
def test_no_device_sends_faster_than_its_sensor(every: float, batch: int, pace: float) -> None:
    sensor = SENSED | {"features__sensor.every": every}
    task = make_task(**sensor, collection__batch=batch, collection__buffer=100)
    assert task.checkins_per_minute == pytest.approx(pace)


def test_the_pace_is_what_the_task_says() -> None:
    assert make_task(enrolment__checkins_per_minute=None).checkins_per_minute == 60
    said = SENSED | {"enrolment__checkins_per_minute": 6000}
    assert make_task(**said).checkins_per_minute == 6000
    manual = SENSED | {
        "features__sensor.kind": "manual",
        "features__sensor.transform": "values",
        "features__sensor.fields": list("abcd"),
    }
    assert make_task(**manual).checkins_per_minute == 60


# The share of a device


@pytest.mark.parametrize(
    "make", [make_task, partial(make_direction_task, collection__checkins=100)]
)
def test_a_flood_of_one_device_waits_for_others(store: Store, make: Callable[..., Task]) -> None:
    task = make(enrolment__checkins_per_minute=None)
    learner = new_learner(store, task, n=101)
    crowd = store.devices(learner.id)
    learner.ingest(arrivals(task, 200, crowd[:100]))
    flood = arrivals(task, 60, crowd[100:])
    answers = [answer for arrival in flood for answer in learner.ingest([arrival])]
    assert [isinstance(answer, CheckinAnswer) for answer in answers] == [True] * 10 + [False] * 50
    rejected = answers[-1]
    assert isinstance(rejected, Rejected)
    assert (rejected.kind, rejected.extra["retry_after"]) == ("too-frequent", 60)
    again = reopened(store, task)
    assert isinstance(again.ingest(flood[-1:])[0], Rejected), "a restart forgets nothing"
    learner.refresh()
    answers = learner.ingest(arrivals(task, 200, crowd[:100], first=200))
    assert all(isinstance(answer, CheckinAnswer) for answer in answers), "others go on"
    assert isinstance(learner.ingest(flood[-1:])[0], CheckinAnswer), "and then it may"
    assert_same(reopened(store, task).committed_fold(), learner.committed_fold())


def test_an_owner_who_sets_the_pace_decides(store: Store) -> None:
    task = make_task()
    learner = new_learner(store, task, n=101)
    crowd = store.devices(learner.id)
    learner.ingest(arrivals(task, 200, crowd[:100]))
    answers = learner.ingest(arrivals(task, 60, crowd[100:]))
    assert all(isinstance(answer, CheckinAnswer) for answer in answers)


def test_few_devices_share_evenly() -> None:
    """Check that three devices that send in turn never wait, because each may have two thirds."""
    shares = DeviceShares()
    for i in range(450):
        assert not shares.has_used_up(i % 3)
        shares.add(i % 3, at=0)


def test_a_group_counts_as_if_one_came_after_the_other(store: Store) -> None:
    task = make_task(enrolment__checkins_per_minute=None)
    learner = new_learner(store, task, n=100)
    answers = learner.ingest(arrivals(task, 1000, store.devices(learner.id)))
    assert all(isinstance(answer, CheckinAnswer) for answer in answers)


def test_who_is_left_alone_goes_on_after_a_day() -> None:
    shares = DeviceShares()
    for device in range(190):
        shares.add(device, 0)
    for _ in range(10):
        shares.add(1000, 60)
    assert shares.has_used_up(1000)
    shares.add(1001, COUNTED_SECONDS + 61)
    assert not shares.has_used_up(1000)


# The length of a device's steps


DATA = load_activity(features="demo")


def noisy_task(mechanism: str) -> Task:
    return make_task(
        features__count=12,
        target__labels=["Still", "Walking", "Jogging"],
        privacy__mechanism=mechanism,
        privacy__epsilon=10.0,
        collection__batch=52,
        collection__buffer=520,
        stop__updates=100,
        optimizer__c=None,
    )


def entry(seq: int, device: int, payload: NoisePayload) -> LogEntry:
    data = msgspec.msgpack.encode(payload)
    return LogEntry(1, seq, device, f"{seq}", 0, seq - 1, None, payload.samples, data, f"{device}")


def lie(mechanism: NoiseMechanism, payload: NoisePayload, w: np.ndarray[Any, Any]) -> NoisePayload:
    """Push w back to where it came from, as hard as the rules accept."""
    most = mechanism.plausible_gradient(payload.samples)
    return msgspec.structs.replace(payload, gradient=(most * np.sign(w)).astype("<i4").tobytes())


@pytest.mark.parametrize("mechanism", ["laplace", "gaussian"])
@pytest.mark.parametrize("lies", [0, 10])
def test_a_device_that_lies_does_not_wreck_a_model(mechanism: str, lies: int) -> None:
    """Check lies among 96 check-ins of the demo's people, with all the noise.

    Noise and order are seeded, so the test passes always or never. Without the limit the error is
    0.1 or more.
    """
    task = noisy_task(mechanism)
    made, model, fold = task.terms.mechanism(), task.terms.make_model(), Fold(task, "0" * 64)
    assert isinstance(made, NoiseMechanism)
    rng, chance = np.random.default_rng(1), SeededChance(1)
    order = rng.permutation(len(DATA.y_train))[: 96 * 52].reshape(96, 52)
    when = set(np.linspace(20, 90, lies).astype(int).tolist())
    norms = np.linalg.norm(DATA.x_train, made.norm, axis=1, keepdims=True)
    x = DATA.x_train / np.maximum(norms, 1.0)
    shortened = 0
    for i, rows in enumerate(order):
        minibatch = Minibatch(model, fold.w, x[rows], DATA.y_train[rows])
        payload = made.make_payload(
            minibatch, made.event(52), CheckinKey("0" * 64, str(i), 0), chance
        )
        assert fold.learning.usual is not None
        length = float(np.linalg.norm(np.frombuffer(payload.gradient, "<i4") * 2.0**payload.grid))
        shortened += length > fold.learning.usual.limit
        fold.apply(entry(fold.version + 1, i, payload))
        if i in when:
            fold.apply(entry(fold.version + 1, 96, lie(made, payload, fold.w)))
    x_test = DATA.x_test / np.maximum(
        np.linalg.norm(DATA.x_test, made.norm, axis=1, keepdims=True), 1.0
    )
    error = model.mistakes(fold.exported, x_test, DATA.y_test).mean()
    assert error < 0.03
    assert shortened <= 2, "honest ones hardly notice"


def test_a_snapshot_holds_what_is_usual() -> None:
    task = noisy_task("laplace")
    made, fold, rng = task.terms.mechanism(), Fold(task, "0" * 64), np.random.default_rng(0)
    assert isinstance(made, NoiseMechanism)
    payload = NoisePayload(52, 0, 3, (20, 20, 12), made.grid(52), b"")
    for seq in range(1, 300):
        g = rng.normal(0, 100 * (1 + seq % 7), made.size).astype("<i4").tobytes()
        fold.apply(entry(seq, seq, msgspec.structs.replace(payload, gradient=g)))
        if seq % 50 == 0:
            again = Fold.from_bytes(task, "0" * 64, fold.to_bytes())
            assert_same(again, fold)
            assert again.learning.usual is not None
            assert fold.learning.usual is not None
            assert again.learning.usual.limit == fold.learning.usual.limit
            fold = again
    assert math.isfinite(fold.w.sum())

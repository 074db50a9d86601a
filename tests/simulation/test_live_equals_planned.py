"""Test that equal check-ins give a planned and a live crowd equal parameters, bit for bit."""

from typing import Any

import msgspec
import numpy as np
import pytest

from crowdml.models import Minibatch
from crowdml.optim import OPTIMIZERS
from crowdml.privacy import CheckinKey, SystemChance
from crowdml.protocol import MECHANISMS, Task, terms_hash
from crowdml.server.database.log_entry import LogEntry
from crowdml.server.log.fold import Fold
from crowdml.simulation import Learning
from crowdml.simulation.fold import checkin_step
from crowdml.simulation.learning_setup import LearningSetup
from crowdml.simulation.schedule.undelayed import one_by_one
from tests.simulation.toy import numbers
from tests.support.servers import make_task

NOISY = [name for name in MECHANISMS if name != "direction"]
CHECKINS, DEVICES, TRAINING, EPSILON = 60, 20, 3, 4.0


def task_and_learning(mechanism: str, kind: str) -> tuple[Task, Learning]:
    """Make a task, and the settings that one would plan it with.

    The task predicts numbers, and counts errors on a sample that does not train: so all of ε is
    spent on gradients, as in a simulation. Everything that can be planned is planned.
    """
    c = None if OPTIMIZERS[kind].has_rate else 0.3
    heldout = mechanism in NOISY
    changes: dict[str, Any] = {
        "features__count": 5,
        "target__labels": [],
        "model__kind": "huber",
        "privacy__mechanism": mechanism,
        "privacy__epsilon": EPSILON,
        "collection__batch": TRAINING + heldout,
        "collection__buffer": None,
        "collection__heldout": 0.25 if heldout else None,
        "collection__checkins": None if heldout else CHECKINS // DEVICES,
        "collection__evaluators": None if heldout else 0.0,
        "collection__counters": None if heldout else 0.0,
        "optimizer__kind": kind,
        "optimizer__c": c,
        "stop__updates": CHECKINS,
    }
    learning = Learning(
        mechanism=mechanism,
        epsilon=EPSILON,
        c=c,
        optimizer=kind,
        model="huber",
        radius=1000.0,
        clip=None if c is None or mechanism not in NOISY else 1.0,
        scale=1.0,
    )
    return make_task(**changes), learning


def lengthened(payload: Any) -> Any:
    """Make a gradient ten times as long; directions, which all have similar lengths, stay."""
    if not hasattr(payload, "gradient"):
        return payload
    g = 10 * np.frombuffer(payload.gradient, "<i4").astype(np.int64)
    return msgspec.structs.replace(payload, gradient=g.astype("<i4").tobytes())


@pytest.mark.parametrize("kind", OPTIMIZERS)
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_planned_and_a_live_crowd_agree(mechanism: str, kind: str) -> None:
    data = numbers(CHECKINS * TRAINING, n_features=5)
    task, learning = task_and_learning(mechanism, kind)
    made, terms = task.terms.mechanism(), terms_hash(task.terms.text)
    schedule = one_by_one(CHECKINS * TRAINING, TRAINING)._replace(checkins=CHECKINS // DEVICES)
    step = checkin_step(learning, LearningSetup.of(learning, data, schedule))
    fold, chance = Fold(task, terms), SystemChance()
    state, rng = step.start(fold.model.size), np.random.default_rng(0)
    unlimited = step._replace(limit=None)
    other = unlimited.start(fold.model.size)
    x = data.bounded(made.norm).x_train
    for i in range(CHECKINS):
        rows = rng.choice(len(x), task.terms.collection.batch, replace=False)
        minibatch = Minibatch(fold.model, fold.w, x[rows], data.y_train[rows])
        key = CheckinKey(terms, f"device-{i % DEVICES}", 1 + i // DEVICES)
        payload: Any = made.make_payload(minibatch, made.event(len(rows), key), key, chance)
        if i % 15 == 4:  # the first long gradient comes while the first limit holds
            payload = lengthened(payload)
        number, samples = (None, len(rows)) if mechanism in NOISY else (key.number, None)
        sent = msgspec.msgpack.encode(payload)
        fold.apply(LogEntry(1, i + 1, i % DEVICES, f"{i}", 0, i, number, samples, sent, key.device))
        reading = made.read(payload, key)
        state = step(state, reading, i % DEVICES)
        other = unlimited(other, reading, i % DEVICES)
        assert state.w.tobytes() == fold.w.tobytes()
    planned = step.optimizer.model(state.optimizer, state.w)
    assert planned.tobytes() == fold.exported.tobytes()
    assert np.abs(planned).max() > 0
    assert (other.w.tobytes() != fold.w.tobytes()) == (mechanism in NOISY), "the limit was felt"

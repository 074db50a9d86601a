"""Test a task that starts from a pilot's model: version 0, snapshots, replays and exports."""

import hashlib
from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np
import pytest

from crowdml.errors import InvalidInput, Rejected
from crowdml.protocol import Checkout, Task
from crowdml.server import Store
from crowdml.server.log.fold import Fold
from crowdml.server.results.card import model_card
from crowdml.server.results.export import learnt_model
from tests.protocol.starts import make_start
from tests.server.learners import arrivals, assert_same, new_learner, reopened, replayed
from tests.support.servers import make_direction_task, make_task

MAKE: list[Callable[..., Task]] = [
    lambda **changes: make_task(start=make_start(), **changes),
    lambda **changes: make_direction_task(start=make_start(norm=2), optimizer__c=None, **changes),
    lambda **changes: make_task(start=make_start(), optimizer__kind="dual-averaging", **changes),
]


@pytest.mark.parametrize("make", MAKE, ids=["sgd", "planned", "dual averaging"])
def test_a_task_goes_on_from_its_start(store: Store, make: Callable[..., Task]) -> None:
    task = make(stop__window=10)
    learner = new_learner(store, task, snapshot_every=4)
    said = task.terms.model.start
    assert said is not None
    checkout = msgspec.json.decode(learner.published.body(), type=Checkout)
    assert checkout.version == 0
    assert hashlib.sha256(checkout.parameters).hexdigest() == said.sha256
    with pytest.raises(Rejected, match="has learnt nothing yet"):
        learnt_model(learner.published)
    incoming = arrivals(task, 25)
    learner.ingest(incoming[:9])
    learner = reopened(store, task, 4)
    learner.ingest(incoming[9:])
    assert_same(learner.committed_fold(), replayed(store, task))
    w, w0 = learner.published.w, task.w0
    plain = Fold(task, learner.terms_sha256)
    plain.learning = plain.step.start(len(w), plain.learning.totals)
    plain.apply(*store.log(learner.id))
    assert w0 is not None
    assert w - w0 == pytest.approx(plain.w), "the same steps from another place"


def test_the_card_names_the_start(store: Store) -> None:
    task = MAKE[0](model__pilot="our office")
    learner = new_learner(store, task, snapshot_every=100)
    learner.ingest(arrivals(task, 5))
    card = model_card(learner)
    sentence = "The model starts from a pilot of 200 samples of 4 people (our office)."
    assert f"- **Start**: {sentence}" in card
    assert "**Not protected** are the people of the pilot" in card


def test_a_changed_start_stops_the_task(store: Store) -> None:
    task = MAKE[0]()
    assert task.start is not None
    changed: Any = msgspec.structs.replace(task.start, data=np.zeros(12, "<f4").tobytes())
    with pytest.raises(InvalidInput, match="changed after the task was created"):
        Fold(msgspec.structs.replace(task, start=changed), "0" * 64)

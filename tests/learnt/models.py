"""Make models of every kind, learnt by a real fold from real check-ins."""

from typing import Any

import numpy as np

from crowdml.learnt import LearntModel, ModelDescription, make_estimator
from crowdml.protocol import State, Task, terms_hash
from crowdml.server.log.fold import Fold
from crowdml.server.log.published import Published
from crowdml.server.results.export import learnt_model
from crowdml.types import Array
from tests.server.learners import entry
from tests.support.servers import make_direction_task, make_task

NUMBER: dict[str, Any] = {"target__labels": None, "model__clip": 1.0}
KINDS: dict[str, Task] = {
    "softmax": make_task(),
    "softmax of people": make_direction_task(optimizer__c=None, stop__updates=100),
    "softmax with intercepts": make_task(
        model__intercept=True, privacy__mechanism="gaussian", target__labels=["b", "a"]
    ),
    "raw units": make_task(
        features__names=["light", "warmth", "hours", "noise"],
        features__center=[30.0, -2.1, 0.3, 1.0],
        features__scale=[25.0, 3.0, 0.3, 9.0],
        features__length=2.3,
        features__missing="center",
    ),
    "centered people": make_direction_task(
        optimizer__c=None, stop__updates=100, features__center=[3.0, -2.1, 0.3, 1.0]
    ),
    "hinge": make_task(model__kind="hinge"),
    "ridge": make_task(model__kind="ridge", **NUMBER),
    "huber with an intercept": make_task(model__kind="huber", model__intercept=True, **NUMBER),
}


def fold_of(task: Task, checkins: int = 6) -> Fold:
    fold = Fold(task, terms_hash(task.terms.text))
    for seq in range(1, checkins + 1):
        fold.apply(entry(task, seq, device=seq))
    return fold


def learnt(task: Task) -> LearntModel:
    return learnt_model(Published.of(fold_of(task), State.RUNNING))


def features(n: int = 300) -> Array:
    """Make rows of four numbers, most of them longer than 1, some shorter, one of zeros."""
    x = np.random.default_rng(0).normal(size=(n, 4)) * np.geomspace(0.01, 300, n)[:, None]
    x[0] = 0.0
    return x


def made(task: Task, weights: Array, intercepts: Array) -> LearntModel:
    """Make a model with the given numbers."""
    return make_estimator(ModelDescription.of(task.terms, "0" * 64, 1), weights, intercepts)

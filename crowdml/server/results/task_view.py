"""Describe a task for people and programs.

Views and statistics read the published value, in any thread; `crowded_joins` reads the database, in
the store's thread.
"""

import time
from collections import Counter
from typing import NamedTuple

from crowdml.protocol import Statistics, TaskView
from crowdml.server.database import Store
from crowdml.server.log import Learner

NEWEST_JOINS = 50
FEW_JOINS = 10


class CrowdedJoins(NamedTuple):
    """Report that most of the newest joins came from one network."""

    joins: int
    most: int


def crowded_joins(store: Store, task: int) -> CrowdedJoins | None:
    """Count the newest joins from one network, if they are more than half of all."""
    rows = store.joins.newest(task, NEWEST_JOINS)
    if len(rows) < FEW_JOINS:
        return None
    ((_, most),) = Counter(row.network for row in rows).most_common(1)
    return CrowdedJoins(len(rows), most) if 2 * most > len(rows) else None


def task_view(learner: Learner) -> TaskView:
    published = learner.published
    task = published.task
    return TaskView(
        name=task.name,
        title=task.title,
        objective=task.objective,
        state=published.state,
        private=task.terms.private,
        enrolment=task.enrolment.mode,
        algorithm=task.optimizer.kind,
        version=published.version,
        devices=learner.devices,
        terms=learner.terms,
        terms_sha256=learner.terms_sha256,
    )


def current_statistics(learner: Learner) -> Statistics:
    """Return the statistics of the last commit, at this moment."""
    return learner.published.statistics(learner.devices, time.time())

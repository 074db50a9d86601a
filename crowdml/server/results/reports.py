"""What people and programs are told about a task.

Views and statistics read what is published, in any thread; devices the log, in the store's.
"""

import time
from collections import Counter
from typing import NamedTuple

from crowdml.protocol import Statistics, TaskView
from crowdml.server.database import DeviceRow, DeviceTotals, Store
from crowdml.server.log import Learner

NEWEST_JOINS = 50
FEW_JOINS = 10


class CrowdedJoins(NamedTuple):
    """Of the newest joins, most came from one network."""

    joins: int
    most: int


def crowded_joins(store: Store, task: int) -> CrowdedJoins | None:
    """How many of the newest joins came from one network, if those are more than half of them."""
    rows = store.joins.newest(task, NEWEST_JOINS)
    if len(rows) < FEW_JOINS:
        return None
    ((_, most),) = Counter(row.network for row in rows).most_common(1)
    return CrowdedJoins(len(rows), most) if 2 * most > len(rows) else None


def view(learner: Learner) -> TaskView:
    now = learner.published
    task = now.task
    return TaskView(
        name=task.name,
        title=task.title,
        objective=task.objective,
        state=now.state,
        private=task.terms.private,
        enrolment=task.enrolment.mode,
        algorithm=task.optimizer.kind,
        version=now.version,
        devices=learner.devices,
        terms=learner.terms,
        terms_sha256=learner.terms_sha256,
    )


def statistics(learner: Learner) -> Statistics:
    """The statistics as of the last commit, at this moment."""
    return learner.published.statistics(learner.devices, time.time())


def devices(store: Store, task: int, first: int, most: int) -> list[tuple[DeviceRow, DeviceTotals]]:
    """The devices with the numbers from `first` on, with what they did."""
    found = store.devices(task, first, most)
    totals = store.log(task).by_device(first, first + most)
    return [(device, totals.get(device.number, DeviceTotals())) for device in found]

"""What people and programs are told about a task.

Views and statistics read what is published, in any thread; devices the log, in the store's.
"""

import time

from crowdml.protocol import Statistics, TaskView
from crowdml.server.database import DeviceRow, DeviceTotals, Store
from crowdml.server.log import Learner


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

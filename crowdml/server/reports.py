"""What people and programs are told about a task.

Statistics and courses read the fold, and devices the log: both in the store's thread.
"""

import time
from typing import NamedTuple

from crowdml.protocol import Statistics, TaskView
from crowdml.server.history import Point
from crowdml.server.learner import Learner
from crowdml.server.log import DeviceTotals
from crowdml.server.store import DeviceRow, Store
from crowdml.server.totals import error_estimate, label_estimates

__all__ = ["Course", "course", "devices", "statistics", "view"]


class Course(NamedTuple):
    """How a task went so far, in a bounded number of points, and the noise behind them."""

    points: list[Point]
    by_minute: dict[int, int]
    error_noise: float


def view(learner: Learner) -> TaskView:
    task, now = learner.task, learner.published
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
    fold, stop = learner.settled(), learner.task.stop
    totals, checkins = fold.totals, fold.version
    promise = learner.task.terms.promise
    return Statistics(
        state=learner.state,
        version=checkins,
        devices=learner.devices,
        active_devices=fold.active.count,
        samples=totals.samples,
        error=error_estimate(
            totals.errors, totals.evaluated, totals.evaluations, fold.mechanism.error_variance
        ),
        recent_error=fold.recent_error(),
        labels=label_estimates(
            totals.labels, totals.labelled, totals.countings, fold.mechanism.label_variance
        ),
        staleness_mean=fold.staleness_mean,
        staleness_max=fold.staleness_max,
        checkins_per_minute=fold.history.pace(time.time()),
        epsilon_per_sample=None if promise.exact else promise.epsilon_per_sample,
        epsilon_per_checkin=promise.epsilon_per_checkin,
        epsilon_per_person=promise.epsilon_per_person,
        max_updates=learner.task.t_max,
        target_error=stop.error,
    )


def course(learner: Learner) -> Course:
    fold = learner.settled()
    points, by_minute = list(fold.history.points), dict(fold.history.by_minute)
    if fold.version and (not points or points[-1].version < fold.version):
        points.append(fold.point())
    return Course(points, by_minute, fold.mechanism.error_variance)


def devices(store: Store, task: int, first: int, most: int) -> list[tuple[DeviceRow, DeviceTotals]]:
    """The devices with the numbers from `first` on, with what they did."""
    found = store.devices(task, first, most)
    totals = store.log(task).by_device(first, first + most)
    return [(device, totals.get(device.number, DeviceTotals())) for device in found]

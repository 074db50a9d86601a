"""Choose the pilot of the demo, and fit the start to its samples."""

import numpy as np

from crowdml.models import Softmax
from crowdml.pilot import fit_start
from crowdml.privacy import bound_rows
from crowdml.protocol import Start, Task
from crowdml.simulation import Dataset, error_rate

ROWS_EACH = 60
"""Samples of each person of the pilot."""


def pilot_start(pilot: Dataset, norm: int) -> Start:
    """Fit the start to the training samples of `pilot`, bounded in the mechanism's norm."""
    x, k = bound_rows(pilot.x_train, norm), len(pilot.labels)
    fitted = fit_start(Softmax(x.shape[1], k), x, pilot.y_train, pilot.person)
    return Start(
        kind="softmax",
        labels=pilot.labels,
        weights=fitted.w.reshape(k, -1),
        norm=1 if norm == 1 else 2,
        rows=len(x),
        people=len(np.unique(pilot.person)),
        regularization=fitted.regularization,
        distance=fitted.distance,
        error=fitted.error,
        error_margin=fitted.error_margin,
    )


def pilot_error(task: Task, data: Dataset) -> float | None:
    """Measure the error of the start alone on the test samples; None without a pilot."""
    if task.w0 is None:
        return None
    return error_rate(task.terms.make_model(), task.w0, data.x_test, data.y_test)

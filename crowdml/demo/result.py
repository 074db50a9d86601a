"""Measure how well the crowd learnt, compared with a central model and a guess."""

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from crowdml.demo.crowd import EpsilonsSpent
from crowdml.demo.observer import Observer
from crowdml.demo.view import Progress
from crowdml.errors import CrowdmlError
from crowdml.learnt import MODEL_FORMATS, read_model
from crowdml.protocol import Task
from crowdml.simulation import Dataset, central_batch, error_rate
from crowdml.types import Flags

CENTRAL_REGULARIZATION = 1e-6


@dataclass(frozen=True)
class DemoResult:
    """Hold how well the crowd learnt, and the cost for its people.

    Args:
        error: The error for people, or samples, that took no part.
        central_error: With all data in one place.
        pilot_error: The error of the start alone; None without a pilot.
        guess_error: The error of always guessing the most frequent label.
        recall: The share of each class that is recognised.
        private_bytes_per_checkin: The most bytes of a check-in that depend on samples.
        promise: What was promised to each participant, in sentences.
        estimated_error: What the server can know of the error, ± estimated_margin.
    """

    error: float
    central_error: float
    pilot_error: float | None
    guess_error: float
    recall: list[float]
    checkins: int
    devices: int
    private_bytes_per_checkin: int
    mechanism: str
    epsilon: EpsilonsSpent
    promise: str
    estimated_error: float
    estimated_margin: float
    seconds: float
    model: str


def result_of(file: Path, data: Dataset, progress: Progress, server: Observer) -> DemoResult:
    """Write the model to `file` and its siblings, one for each format, and measure it."""
    statistics, terms = server.statistics(), progress.task.terms
    for kind in MODEL_FORMATS:
        model = server.model(kind)
        if model is None:
            raise CrowdmlError("the crowd has learnt nothing. Let more --devices take part.")
        file.with_suffix(f".{kind}").write_bytes(model)
    estimate = statistics.error
    wrong = mistakes(data, file.read_bytes())
    labels = data.y_test.astype(int)
    return DemoResult(
        error=float(wrong.mean()),
        central_error=progress.central_error or math.nan,
        pilot_error=progress.pilot_error,
        guess_error=progress.guess_error,
        recall=[float(1 - wrong[labels == k].mean()) for k in range(len(data.labels))],
        checkins=statistics.version,
        devices=statistics.devices,
        private_bytes_per_checkin=terms.mechanism().private_bytes,
        mechanism=terms.mechanism_name,
        epsilon=EpsilonsSpent(progress.per_sample, progress.per_person),
        promise=" ".join(map(str, terms.promise.what_is_lost)),
        estimated_error=estimate.value if estimate else math.nan,
        estimated_margin=estimate.margin if estimate else math.nan,
        seconds=round(progress.seconds, 1),
        model=str(file),
    )


def central_error(task: Task, data: Dataset) -> float:
    model = task.terms.make_model()
    w = central_batch(model, data.x_train, data.y_train, CENTRAL_REGULARIZATION)
    return error_rate(model, w, data.x_test, data.y_test)


def mistakes(data: Dataset, exported: bytes) -> Flags:
    """Return which predictions of the exported model are wrong."""
    true = np.array(data.labels)[data.y_test.astype(int)]
    wrong: Flags = read_model(exported, "the server's model").predict(data.x_test) != true
    return wrong

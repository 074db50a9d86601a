"""Use a pilot: samples that the owner may use openly, to fill in a task and its start."""

from crowdml.pilot.fit import choose_folds, fit_start
from crowdml.pilot.reading import MOST_BYTES, check_size, draft_task, read_pilot
from crowdml.pilot.samples import PilotSamples, read_samples

__all__ = [
    "MOST_BYTES",
    "PilotSamples",
    "check_size",
    "choose_folds",
    "draft_task",
    "fit_start",
    "read_pilot",
    "read_samples",
]

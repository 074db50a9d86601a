"""Use a pilot: samples that the owner may use openly, to fill in a task and its start."""

from crowdml.pilot.draft import Draft
from crowdml.pilot.fit import PilotFit, choose_folds, choose_intercept, fit_start
from crowdml.pilot.minimize import minimize
from crowdml.pilot.reading import MOST_BYTES, check_size, draft_task, read_pilot
from crowdml.pilot.rows import PilotRows, read_rows
from crowdml.pilot.samples import PilotSamples, read_samples

__all__ = [
    "MOST_BYTES",
    "Draft",
    "PilotFit",
    "PilotRows",
    "PilotSamples",
    "check_size",
    "choose_folds",
    "choose_intercept",
    "draft_task",
    "fit_start",
    "minimize",
    "read_pilot",
    "read_rows",
    "read_samples",
]

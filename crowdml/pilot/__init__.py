"""Use a pilot: samples that the owner may use openly, to fill in a task and its start.

The command `task new` calls `draft_task`, and the owner's pages run that command. The simulator and
the demo call `fit_start`. The owner may use a pilot openly, so nothing here adds noise, and samples
of participants must never come here.
"""

from crowdml.pilot.fit import choose_folds, fit_start
from crowdml.pilot.pilot_file import MOST_BYTES, check_size, draft_task, read_pilot
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

"""Compute what one check-in does, as a pure function that server and simulator both call.

`CheckinStep` takes a state and what the mechanism read from a payload, and returns the next state.
Nodes must agree bit by bit on what they compute from one log, so nothing here reads a clock, draws
a random number or changes its input. `simulation/compiled` repeats the step and must follow.
"""

from crowdml.learning.error_band import current_error
from crowdml.learning.evidence import Evidence
from crowdml.learning.reports import Reports
from crowdml.learning.state import LearningState
from crowdml.learning.step import CheckinStep, length_limit
from crowdml.learning.stopping import LIARS_TOLERATED, StoppingRule
from crowdml.learning.totals import TWO_SIDED_95, Totals, label_estimates, share_estimate
from crowdml.learning.usual_length import (
    FEWEST_LENGTHS,
    LIMIT_FACTOR,
    REMEMBERED_LENGTHS,
    USUAL_QUANTILE,
    UsualLength,
)

__all__ = [
    "FEWEST_LENGTHS",
    "LIARS_TOLERATED",
    "LIMIT_FACTOR",
    "REMEMBERED_LENGTHS",
    "TWO_SIDED_95",
    "USUAL_QUANTILE",
    "CheckinStep",
    "Evidence",
    "LearningState",
    "Reports",
    "StoppingRule",
    "Totals",
    "UsualLength",
    "current_error",
    "label_estimates",
    "length_limit",
    "share_estimate",
]

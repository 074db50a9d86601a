"""Compute what one check-in does, as a pure function that server and simulator both call."""

from crowdml.learning.error_band import error_now
from crowdml.learning.evidence import Evidence
from crowdml.learning.reports import Reports
from crowdml.learning.state import LearningState
from crowdml.learning.step import CheckinStep, length_limit
from crowdml.learning.stopping import LIARS, StoppingRule
from crowdml.learning.totals import TWO_SIDED_95, Totals, label_estimates, share_estimate
from crowdml.learning.usual_length import FACTOR, FEWEST, REMEMBERED, USUAL, UsualLength

__all__ = [
    "FACTOR",
    "FEWEST",
    "LIARS",
    "REMEMBERED",
    "TWO_SIDED_95",
    "USUAL",
    "CheckinStep",
    "Evidence",
    "LearningState",
    "Reports",
    "StoppingRule",
    "Totals",
    "UsualLength",
    "error_now",
    "label_estimates",
    "length_limit",
    "share_estimate",
]

"""What the server does with one check-in, as a pure function: the simulator calls it, too."""

from crowdml.learning.evidence import Evidence
from crowdml.learning.state import LearningState
from crowdml.learning.step import CheckinStep, length_limit
from crowdml.learning.stopping import LIARS, StoppingRule
from crowdml.learning.totals import TWO_SIDED_95, Totals, error_estimate, label_estimates
from crowdml.learning.usual_length import FACTOR, FEWEST, REMEMBERED, USUAL, UsualLength
from crowdml.learning.window import Window

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
    "StoppingRule",
    "Totals",
    "UsualLength",
    "Window",
    "error_estimate",
    "label_estimates",
    "length_limit",
]

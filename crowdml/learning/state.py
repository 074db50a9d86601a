"""Hold the state of a task after some check-ins."""

from typing import NamedTuple

from crowdml.learning.evidence import Evidence
from crowdml.learning.reports import Reports
from crowdml.learning.totals import Totals
from crowdml.learning.usual_length import UsualLength
from crowdml.optim import OptimizerState as OptimizerState
from crowdml.types import Array


class LearningState(NamedTuple):
    """Hold everything that one check-in changes; the value itself never changes.

    Args:
        version: How many check-ins were applied.
        reports: What says how often the exported model is wrong.
        usual: The lengths of the newest gradients, where lengths are limited.
        evidence: What shows that the target error is reached, where there is one.
        reached: Whether the evidence was conclusive once.
        staleness_max: The most versions that a check-in was late.
    """

    version: int
    w: Array
    optimizer: OptimizerState
    totals: Totals
    reports: Reports
    usual: UsualLength | None
    evidence: Evidence | None
    reached: bool = False
    staleness_max: int = 0

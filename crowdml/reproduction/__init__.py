"""Reproduce the paper's figures with our simulator, beside the values read off the paper.

`crowdml reproduce` calls this package; each figure is a plan in `plans`. The values in `paper` were
read off the printed figures, and must not be fitted to our results.
"""

from crowdml.reproduction.figure_plan import FigurePlan, load_plans
from crowdml.reproduction.paper import PAPER_VALUES
from crowdml.reproduction.report import write_report
from crowdml.reproduction.reproduce import FIGURES, Reproduction, reproduce

__all__ = [
    "FIGURES",
    "PAPER_VALUES",
    "FigurePlan",
    "Reproduction",
    "load_plans",
    "reproduce",
    "write_report",
]

"""Simulate a crowd before anybody is asked: will it learn, and with which settings?

The command `plan` and the owner's planner call `advise` and `pilot_advice`. It imports the rest of
the simulator, which does not know it.
"""

from crowdml.simulation.advice.advice import Advice, ExpectedCrowd, PlanOption
from crowdml.simulation.advice.cross_fitting import hold_out
from crowdml.simulation.advice.pilot_options import EpsilonOption, PilotAdvice
from crowdml.simulation.advice.pilot_search import pilot_advice
from crowdml.simulation.advice.samples import load_samples
from crowdml.simulation.advice.search import advise

__all__ = [
    "Advice",
    "EpsilonOption",
    "ExpectedCrowd",
    "PilotAdvice",
    "PlanOption",
    "advise",
    "hold_out",
    "load_samples",
    "pilot_advice",
]

"""Will this crowd learn, and with which settings? Simulated before anybody is asked."""

from crowdml.simulation.advice.advice import Advice, Gathering, Option
from crowdml.simulation.advice.search import advise

__all__ = ["Advice", "Gathering", "Option", "advise"]

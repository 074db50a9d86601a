"""Compute who checks in when, on which samples and which version: integers alone.

A schedule does not depend on w, so one schedule serves every ε, rate and trial.
"""

from crowdml.simulation.schedule.arrivals import Arrivals, arrive
from crowdml.simulation.schedule.delays import (
    Delay,
    constant_delay,
    exponential_delay,
    lognormal_delay,
    uniform_delay,
)
from crowdml.simulation.schedule.schedule import Schedule, make_schedule
from crowdml.simulation.schedule.undelayed import one_by_one, person_by_person

__all__ = [
    "Arrivals",
    "Delay",
    "Schedule",
    "arrive",
    "constant_delay",
    "exponential_delay",
    "lognormal_delay",
    "make_schedule",
    "one_by_one",
    "person_by_person",
    "uniform_delay",
]

"""A crowd in arrays: first who checks in when, then what is learnt from it."""

from crowdml.simulation.arrivals import Presence
from crowdml.simulation.baselines import central_batch, decentralized, error_rate, perturb
from crowdml.simulation.datasets import Dataset, load_activity, load_dataset, load_digits
from crowdml.simulation.delays import (
    Delay,
    constant_delay,
    exponential_delay,
    lognormal_delay,
    uniform_delay,
)
from crowdml.simulation.schedule import Schedule, make_schedule
from crowdml.simulation.settings import Crowd, Learning
from crowdml.simulation.simulate import Curve, simulate, tune, validation_split

__all__ = [
    "Crowd",
    "Curve",
    "Dataset",
    "Delay",
    "Learning",
    "Presence",
    "Schedule",
    "central_batch",
    "constant_delay",
    "decentralized",
    "error_rate",
    "exponential_delay",
    "load_activity",
    "load_dataset",
    "load_digits",
    "lognormal_delay",
    "make_schedule",
    "perturb",
    "simulate",
    "tune",
    "uniform_delay",
    "validation_split",
]

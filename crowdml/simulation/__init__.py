"""A crowd in arrays: first who checks in when, then what is learnt from it."""

from crowdml.simulation.arrivals import Presence
from crowdml.simulation.baselines import central_batch, error_rate, perturb
from crowdml.simulation.curve import Curve
from crowdml.simulation.datasets import Dataset, load_activity, load_dataset, load_digits
from crowdml.simulation.delays import (
    Delay,
    constant_delay,
    exponential_delay,
    lognormal_delay,
    uniform_delay,
)
from crowdml.simulation.plan import APPROACHES, Plan
from crowdml.simulation.schedule import Schedule, make_schedule
from crowdml.simulation.settings import Crowd, Learning
from crowdml.simulation.simulate import simulate
from crowdml.simulation.trial import Data
from crowdml.simulation.tuning import tune, validation_split

__all__ = [
    "APPROACHES",
    "Crowd",
    "Curve",
    "Data",
    "Dataset",
    "Delay",
    "Learning",
    "Plan",
    "Presence",
    "Schedule",
    "central_batch",
    "constant_delay",
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

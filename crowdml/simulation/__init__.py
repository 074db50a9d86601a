"""A crowd in arrays: first who checks in when, then what is learnt from it."""

from crowdml.simulation.advice import Advice, Gathering, Option, advise
from crowdml.simulation.arrivals import Presence
from crowdml.simulation.baselines import central_batch, error_rate, guess_error, perturb
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
from crowdml.simulation.results import Results
from crowdml.simulation.schedule import Schedule, make_schedule
from crowdml.simulation.settings import Crowd, Learning
from crowdml.simulation.simulate import simulate
from crowdml.simulation.trial import Data
from crowdml.simulation.tuning import tune, validation_split

__all__ = [
    "APPROACHES",
    "Advice",
    "Crowd",
    "Curve",
    "Data",
    "Dataset",
    "Delay",
    "Gathering",
    "Learning",
    "Option",
    "Plan",
    "Presence",
    "Results",
    "Schedule",
    "advise",
    "central_batch",
    "constant_delay",
    "error_rate",
    "exponential_delay",
    "guess_error",
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

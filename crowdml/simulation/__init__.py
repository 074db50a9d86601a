"""A crowd in arrays: first who checks in when, then what is learnt from it."""

from typing import TYPE_CHECKING

from crowdml.lazy import lazy

if TYPE_CHECKING:
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
    from crowdml.simulation.notebook import ProgressBar
    from crowdml.simulation.plan import APPROACHES, Plan
    from crowdml.simulation.results import Results
    from crowdml.simulation.schedule import Schedule, make_schedule
    from crowdml.simulation.settings import Crowd, Learning
    from crowdml.simulation.trial import Data
    from crowdml.simulation.trials import simulate
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
    "ProgressBar",
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

# Data sets and baselines need no compiler: the demo has them without one.
__getattr__ = lazy(
    __name__,
    {
        "APPROACHES": "crowdml.simulation.plan",
        "Advice": "crowdml.simulation.advice",
        "Crowd": "crowdml.simulation.settings",
        "Curve": "crowdml.simulation.curve",
        "Data": "crowdml.simulation.trial",
        "Dataset": "crowdml.simulation.datasets",
        "Delay": "crowdml.simulation.delays",
        "Gathering": "crowdml.simulation.advice",
        "Learning": "crowdml.simulation.settings",
        "Option": "crowdml.simulation.advice",
        "Plan": "crowdml.simulation.plan",
        "Presence": "crowdml.simulation.arrivals",
        "ProgressBar": "crowdml.simulation.notebook",
        "Results": "crowdml.simulation.results",
        "Schedule": "crowdml.simulation.schedule",
        "advise": "crowdml.simulation.advice",
        "central_batch": "crowdml.simulation.baselines",
        "constant_delay": "crowdml.simulation.delays",
        "error_rate": "crowdml.simulation.baselines",
        "exponential_delay": "crowdml.simulation.delays",
        "guess_error": "crowdml.simulation.baselines",
        "load_activity": "crowdml.simulation.datasets",
        "load_dataset": "crowdml.simulation.datasets",
        "load_digits": "crowdml.simulation.datasets",
        "lognormal_delay": "crowdml.simulation.delays",
        "make_schedule": "crowdml.simulation.schedule",
        "perturb": "crowdml.simulation.baselines",
        "simulate": "crowdml.simulation.trials",
        "tune": "crowdml.simulation.tuning",
        "uniform_delay": "crowdml.simulation.delays",
        "validation_split": "crowdml.simulation.tuning",
    },
)

"""Simulate a crowd in arrays: first who checks in when, then what is learnt.

The command line, the planner, the reproduction and notebooks call `simulate` and `advise`. It uses
the server's step and the stand-ins of mechanisms, and its random numbers are fast, not secure.
Never use it on samples of participants.
"""

from typing import TYPE_CHECKING

from crowdml.lazy import lazy

if TYPE_CHECKING:
    from crowdml.simulation.advice import (
        Advice,
        EpsilonOption,
        ExpectedCrowd,
        PilotAdvice,
        advise,
        hold_out,
        load_samples,
        pilot_advice,
    )
    from crowdml.simulation.baselines import central_batch, error_rate, guess_error
    from crowdml.simulation.crowd_settings import Crowd, Learning, StartPoint
    from crowdml.simulation.curve import Curve
    from crowdml.simulation.datasets import (
        Dataset,
        load_activity,
        load_dataset,
        load_digits,
        row_notes,
        set_aside,
    )
    from crowdml.simulation.fold import FoldInputs, fold_slowly, learn
    from crowdml.simulation.learning_setup import (
        LearningSetup,
        make_model,
        make_stand_in,
        model_for,
        scale_of,
    )
    from crowdml.simulation.notebook import ProgressBar
    from crowdml.simulation.plan import Plan
    from crowdml.simulation.plan_file import CurveSettings, PlanFile, read_plan, read_settings
    from crowdml.simulation.plot import (
        COLOURS,
        NotebookFigure,
        check_format,
        draw_curves,
        save,
    )
    from crowdml.simulation.results import Results
    from crowdml.simulation.schedule import (
        Arrivals,
        Schedule,
        constant_delay,
        exponential_delay,
        lognormal_delay,
        make_schedule,
        one_by_one,
        person_by_person,
        uniform_delay,
    )
    from crowdml.simulation.trial import Data, epsilons_spent
    from crowdml.simulation.trials import simulate
    from crowdml.simulation.tuning import tune

__all__ = [
    "COLOURS",
    "Advice",
    "Arrivals",
    "Crowd",
    "Curve",
    "CurveSettings",
    "Data",
    "Dataset",
    "EpsilonOption",
    "ExpectedCrowd",
    "FoldInputs",
    "Learning",
    "LearningSetup",
    "NotebookFigure",
    "PilotAdvice",
    "Plan",
    "PlanFile",
    "ProgressBar",
    "Results",
    "Schedule",
    "StartPoint",
    "advise",
    "central_batch",
    "check_format",
    "constant_delay",
    "draw_curves",
    "epsilons_spent",
    "error_rate",
    "exponential_delay",
    "fold_slowly",
    "guess_error",
    "hold_out",
    "learn",
    "load_activity",
    "load_dataset",
    "load_digits",
    "load_samples",
    "lognormal_delay",
    "make_model",
    "make_schedule",
    "make_stand_in",
    "model_for",
    "one_by_one",
    "person_by_person",
    "pilot_advice",
    "read_plan",
    "read_settings",
    "row_notes",
    "save",
    "scale_of",
    "set_aside",
    "simulate",
    "tune",
    "uniform_delay",
]

# Data sets and baselines need no compiler, so the demo can use them without one.
__getattr__ = lazy(__name__)

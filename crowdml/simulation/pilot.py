"""Draw the pilot of a simulated trial, and fit starts to it."""

from dataclasses import dataclass, field, replace

import numpy as np

from crowdml.models import Model
from crowdml.pilot import fit_start
from crowdml.simulation.baselines import error_rate
from crowdml.simulation.crowd_settings import Crowd, StartPoint
from crowdml.simulation.datasets import Dataset, set_aside
from crowdml.simulation.learning_setup import model_for
from crowdml.simulation.plan import Plan
from crowdml.types import Ints


@dataclass(frozen=True)
class TrialPilot:
    """Hold the pilot of one trial, and fit one start for all plans with one norm and one model.

    Args:
        data: The pilot's samples, as training samples.
        people: The person of each sample; None where that is not known.
        seed: The seed of the fits.
    """

    data: Dataset
    people: Ints | None
    seed: int
    starts: dict[tuple[int, Model], StartPoint] = field(default_factory=dict)

    @classmethod
    def of(
        cls, data: Dataset, crowd: Crowd, rng: np.random.Generator
    ) -> tuple["TrialPilot", Dataset]:
        """Draw the pilot that the crowd asks for; return it with the crowd's other samples."""
        assert crowd.pilot is not None
        pilot, rest = set_aside(data, crowd.pilot, crowd.pilot_people, rng)
        known = len(np.unique(data.person)) > 1
        people = pilot.person if known else None
        return cls(pilot, people, int(rng.integers(2**32))), rest

    def start(self, plan: Plan) -> StartPoint:
        """Fit the start of this plan."""
        model = model_for(plan.learning, self.data)
        if (plan.norm, model) not in self.starts:
            seen = self.data.bounded(plan.norm)
            fitted = fit_start(model, seen.x_train, seen.y_train, self.people, seed=self.seed)
            n_people = None if self.people is None else len(np.unique(self.people))
            w, n = tuple(fitted.w.tolist()), len(seen.y_train)
            start = StartPoint(w, fitted.distance or None, n, n_people)
            self.starts[plan.norm, model] = start
        return self.starts[plan.norm, model]

    def with_start(self, plan: Plan) -> Plan:
        """Replace the pilot in a plan by its start; a central server does not use a start."""
        if plan.central:
            return plan
        crowd = replace(plan.crowd, pilot=None, pilot_people=None)
        return replace(plan, crowd=crowd, learning=replace(plan.learning, start=self.start(plan)))

    def error(self, plan: Plan) -> float:
        """Return the error of the start alone on the test samples."""
        model = model_for(plan.learning, self.data)
        w = np.array(self.start(plan).w)
        return error_rate(model, w, *self.data.bounded_test(plan.norm))

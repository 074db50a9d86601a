"""A simulated pilot: training samples that are set aside, and the start that is fitted to them."""

from dataclasses import dataclass, field, replace

import numpy as np

from crowdml.errors import InvalidInput
from crowdml.models import Model
from crowdml.pilot import fit_start
from crowdml.simulation.baselines import error_rate
from crowdml.simulation.datasets import Dataset
from crowdml.simulation.plan import Plan
from crowdml.simulation.rule import model_for
from crowdml.simulation.settings import Crowd, StartPoint
from crowdml.types import Flags, Ints

__all__ = ["TrialPilot", "set_aside"]

USUAL_PEOPLE = 2
"""People of a pilot, where the data say whose samples they are."""


def set_aside(
    data: Dataset, rows: int, people: int | None, rng: np.random.Generator
) -> tuple[Dataset, Dataset]:
    """Set `rows` training samples aside as a pilot; return the pilot's data and the crowd's.

    Where the data say whose samples they are, the pilot is about `rows / people` samples of each of
    `people` people (2 by default), whose other samples are left out of both. Otherwise it is `rows`
    random samples.

    >>> from crowdml.simulation.datasets import load_activity
    >>> pilot, rest = set_aside(load_activity(), 120, None, np.random.default_rng(0))
    >>> [len(np.unique(part.person)) for part in (pilot, rest)], len(pilot.y_train)
    ([2, 16], 120)
    """
    names, n = np.unique(data.person), len(data.y_train)
    if len(names) == 1 and people is not None:
        raise InvalidInput(
            f"a pilot of {people} people needs data with people, and {data.name} does not say "
            "whose samples they are. Leave out pilot_people."
        )
    chosen = np.zeros(n, np.bool_)
    if len(names) == 1:
        if not rows < n:
            raise InvalidInput(
                f"the pilot must be fewer than the {n:,} samples of {data.name}, found {rows:,}."
            )
        chosen[rng.permutation(n)[:rows]] = True
        return _part(data, chosen), _part(data, ~chosen)
    people = USUAL_PEOPLE if people is None else people
    if not people < len(names):
        raise InvalidInput(
            f"the pilot must be fewer than the {len(names)} people of {data.name}, found {people}."
        )
    pilot = rng.permutation(names)[:people]
    for number, name in enumerate(pilot):
        own = rng.permutation(np.flatnonzero(data.person == name))
        chosen[own[: (rows + number) // people]] = True
    return _part(data, chosen), _part(data, ~np.isin(data.person, pilot))


def _part(data: Dataset, rows: Flags) -> Dataset:
    return replace(
        data, x_train=data.x_train[rows], y_train=data.y_train[rows], person=data.person[rows]
    )


@dataclass(frozen=True)
class TrialPilot:
    """The pilot of one trial. A start is fitted once for all plans with one norm and one model.

    Args:
        data: The pilot's samples, as training samples.
        people: Whose samples they are; None where that is not known.
        seed: Of the fits.
    """

    data: Dataset
    people: Ints | None
    seed: int
    starts: dict[tuple[int, Model], StartPoint] = field(default_factory=dict)

    @classmethod
    def of(
        cls, data: Dataset, crowd: Crowd, rng: np.random.Generator
    ) -> tuple["TrialPilot", Dataset]:
        """Draw the pilot that the crowd wants, and what is left for the crowd."""
        assert crowd.pilot is not None
        pilot, rest = set_aside(data, crowd.pilot, crowd.pilot_people, rng)
        known = len(np.unique(data.person)) > 1
        people = pilot.person if known else None
        return cls(pilot, people, int(rng.integers(2**32))), rest

    def start(self, plan: Plan) -> StartPoint:
        """The start of this plan."""
        model = model_for(plan.learning, self.data)
        if (plan.norm, model) not in self.starts:
            seen = self.data.bounded(plan.norm)
            fitted = fit_start(model, seen.x_train, seen.y_train, self.people, seed=self.seed)
            n_people = None if self.people is None else len(np.unique(self.people))
            w, n = tuple(fitted.w.tolist()), len(seen.y_train)
            start = StartPoint(w, fitted.distance or None, n, n_people)
            self.starts[plan.norm, model] = start
        return self.starts[plan.norm, model]

    def started(self, plan: Plan) -> Plan:
        """The plan with its start in the pilot's place; a central server has no use for one."""
        if plan.central:
            return plan
        crowd = replace(plan.crowd, pilot=None, pilot_people=None)
        return replace(plan, crowd=crowd, learning=replace(plan.learning, start=self.start(plan)))

    def error(self, plan: Plan) -> float:
        """The error of the start alone on the test samples."""
        model = model_for(plan.learning, self.data)
        w = np.array(self.start(plan).w)
        return error_rate(model, w, *self.data.bounded_test(plan.norm))

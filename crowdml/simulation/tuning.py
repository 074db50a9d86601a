"""Choose c and λ by trying values on samples set aside."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from crowdml.simulation.baselines import perturb
from crowdml.simulation.datasets import Dataset
from crowdml.simulation.plan import Plan
from crowdml.simulation.trial import DATA_STREAM
from crowdml.simulation.trials import simulate

RATES = tuple(float(c) for c in np.geomspace(0.01, 1000, 11))
REGULARIZATIONS = (0.0, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1)
VALIDATION_SHARE = 0.15


def tune(
    data: Dataset,
    plan: Plan,
    rate: bool = True,
    regularization: bool = True,
    on_test: bool = False,
    seed: int = 0,
    engine: str | None = None,
) -> Plan:
    """Choose the best c of `RATES`, then the best λ of `REGULARIZATIONS`, and return the plan.

    A plan with the planned rate changes to the rate c/√t.

    Args:
        rate: Whether c is chosen, if there is one.
        regularization: Whether λ is chosen.
        on_test: The paper's choice, which sees the test set. Otherwise it sees some of the
            training samples, which are set aside while choosing.
        seed: The same seed gives the same choice.
        engine: The engine of `simulate`.
    """
    wanted: dict[str, Sequence[float]] = {}
    if rate and plan.approach != "central-batch":
        wanted["c"] = RATES
    if regularization:
        wanted["regularization"] = REGULARIZATIONS
    if not wanted:
        return plan
    tried = plan
    if plan.central:
        # A server can choose only by the noisy samples that it has.
        data = perturb(data, plan.learning.epsilon, np.random.default_rng([seed, 0, DATA_STREAM]))
        tried = _with(tried, epsilon=math.inf)
    seen = data if on_test else validation_split(data, seed)
    tried = replace(tried, crowd=replace(plan.crowd, devices=_devices(plan, data, seen)))
    chosen: dict[str, Any] = {}
    for name, values in wanted.items():
        plans = [_with(tried, **chosen, **_value(tried, name, value)) for value in values]
        curves = simulate(seen, plans, seed=seed, points=1, engine=engine)
        best = values[int(np.argmin([curve.final for curve in curves]))]
        chosen |= _value(tried, name, best)
    return _with(plan, **chosen)


def _value(plan: Plan, name: str, value: float) -> dict[str, Any]:
    """Return the value of c; the planned rate has its own c."""
    if name == "c" and plan.learning.planned:
        return {"c": value, "rate": "sqrt"}
    return {name: value}


def _with(plan: Plan, **changes: Any) -> Plan:
    return replace(plan, learning=replace(plan.learning, **changes))


def _devices(plan: Plan, data: Dataset, seen: Dataset) -> int:
    """Return as many devices as keep the number of samples per device, at least one per person."""
    n = len(seen.y_train)
    share = round(plan.crowd.devices * n / len(data.y_train))
    return min(max(share, len(np.unique(seen.person))), n)


def validation_split(data: Dataset, seed: int = 0) -> Dataset:
    """Split the training samples into training and test, by whole people if there are enough."""
    rng = np.random.default_rng(seed)
    people = np.unique(data.person)
    if len(people) >= 5:
        chosen = rng.permutation(people)[: math.ceil(VALIDATION_SHARE * len(people))]
        aside = np.isin(data.person, chosen)
    else:
        aside = rng.random(len(data.y_train)) < VALIDATION_SHARE
    return replace(data.take(~aside), x_test=data.x_train[aside], y_test=data.y_train[aside])

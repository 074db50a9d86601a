"""The approaches that the paper compares: the crowd, all data in one place, every device alone."""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import joblib
import numpy as np

from crowdml.errors import InvalidInput
from crowdml.simulation.baselines import central_batch, decentralized, error_rate, perturb
from crowdml.simulation.datasets import Dataset
from crowdml.simulation.settings import Crowd, Learning
from crowdml.simulation.simulate import Curve, run_jobs, simulate, validation_split
from crowdml.simulation.trial import Lane, run_trial

__all__ = ["APPROACHES", "Plan", "Tuning", "run_plans"]

APPROACHES = ("crowd", "central-batch", "central-sgd", "decentral")

RATES = tuple(float(c) for c in np.geomspace(0.01, 1000, 11))
REGULARIZATIONS = (0.0, 1e-6, 1e-5, 1e-4)
BATCH_REGULARIZATIONS = (0.0, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1)

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Plan:
    """One curve to be drawn.

    Args:
        approach: crowd, central-batch, central-sgd or decentral.
        crowd: Who takes part. Central approaches have no delays, and b is the server's minibatch.
        way: How it learns. Where all data are in one place, ε is that of the samples sent there.
    """

    approach: str
    crowd: Crowd
    way: Learning

    def __post_init__(self) -> None:
        if self.approach not in APPROACHES:
            raise InvalidInput(
                f"approach must be one of {', '.join(APPROACHES)}, found {self.approach!r}."
            )

    @property
    def central(self) -> bool:
        return self.approach.startswith("central")


@dataclass(frozen=True)
class Tuning:
    """What is chosen by trying, and on which samples.

    Args:
        rate: Whether c is chosen.
        regularization: Whether λ is chosen, after c.
        on_test: The paper's way: the choice sees the test set. Otherwise it sees some of the
            training samples, which are set aside while choosing.
    """

    rate: bool = False
    regularization: bool = False
    on_test: bool = False


def run_plans(
    data: Dataset,
    plans: Sequence[Plan],
    tuning: Callable[[Plan], Tuning] = lambda plan: Tuning(),
    trials: int = 1,
    seed: int = 0,
    points: int = 30,
    engine: str | None = None,
    progress: Progress = lambda what, done, total: None,
) -> list[tuple[Plan, Curve]]:
    """The curve of every plan, beside the plan as it was run: with the c and λ that were chosen.

    Args:
        data: What is learnt.
        plans: The curves wanted.
        tuning: What to choose first for a plan; nothing by default.
        trials: How often each is repeated.
        seed: The same seed gives the same curves.
        points: Where to look, evenly over the clock.
        engine: As for `simulate`.
        progress: Called with what is being done, and how much of how much is.
    """
    if trials < 1:
        raise InvalidInput(f"trials must be at least 1, found {trials}.")
    chosen = []
    for done, plan in enumerate(plans):
        progress("choosing", done, len(plans))
        chosen.append(_tuned(data, plan, tuning(plan), seed, engine))
    crowds = [plan for plan in chosen if plan.approach == "crowd"]
    others = [plan for plan in chosen if plan.approach != "crowd"]
    found: dict[Plan, Curve] = {}
    if crowds:
        runs = [(plan.crowd, plan.way) for plan in crowds]
        curves = simulate(
            data, runs, trials, seed, points, engine, lambda *done: progress("crowd", *done)
        )
        found.update(zip(crowds, curves, strict=True))
    jobs = [(plan, trial) for plan in others for trial in range(trials)]
    calls = (
        joblib.delayed(_trial)(data, plan, (seed, trial), min(points, 10)) for plan, trial in jobs
    )
    lanes: dict[Plan, list[Lane]] = {}
    results = run_jobs(calls, engine, data) if jobs else ()
    for done, ((plan, _), lane) in enumerate(zip(jobs, results, strict=True), start=1):
        lanes.setdefault(plan, []).append(lane)
        progress("baselines", done, len(jobs))
    found.update({plan: Curve.of(several) for plan, several in lanes.items()})
    return [(plan, found[plan]) for plan in chosen]


def _trial(data: Dataset, plan: Plan, seed: tuple[int, ...], points: int) -> Lane:
    """One trial of an approach that is not the crowd's."""
    began = time.perf_counter()
    if not plan.central:
        lane = _learn(data, plan, seed, points)
        return replace(lane, seconds=time.perf_counter() - began)
    rng = np.random.default_rng(seed)
    lane = _learn(perturb(data, plan.way.epsilon, rng), plan, seed, points)
    n_samples = len(data.y_train)
    devices = min(plan.crowd.devices, n_samples)
    return replace(
        lane,
        checkins=n_samples,
        epsilon_per_sample=plan.way.epsilon,
        epsilon_per_device=plan.way.epsilon * math.ceil(n_samples / devices),
        seconds=time.perf_counter() - began,
    )


def _learn(data: Dataset, plan: Plan, seed: tuple[int, ...], points: int) -> Lane:
    """Learn from data as they are: a server does not know whose they are, nor adds noise."""
    if plan.approach == "decentral":
        return decentralized(data, plan.crowd, plan.way, seed, points)
    way = replace(plan.way, epsilon=math.inf)
    pooled = replace(data, person=np.zeros(len(data.y_train), np.int64))
    if plan.approach == "central-sgd":
        server = Crowd(devices=1, batch=plan.crowd.batch, passes=plan.crowd.passes)
        return run_trial(pooled, server, [way], seed, points)[0]
    model = way.make_model(data.x_train.shape[1], len(data.labels))
    w = central_batch(model, data.x_train, data.y_train, way.regularization)
    errors = np.full(points + 1, error_rate(model, w, data.x_test, data.y_test))
    samples = np.linspace(0, len(data.y_train) * plan.crowd.passes, points + 1).astype(np.int64)
    return Lane(samples, errors, errors, w, 0, 0.0, 0.0)


def _tuned(data: Dataset, plan: Plan, tuning: Tuning, seed: int, engine: str | None) -> Plan:
    """The plan with the best c, then the best λ."""
    batch = plan.approach == "central-batch"
    rates = RATES if tuning.rate and plan.way.optimizer != "auto" and not batch else ()
    strengths: tuple[float, ...] = BATCH_REGULARIZATIONS if batch else REGULARIZATIONS
    if not tuning.regularization:
        strengths = ()
    if not rates and not strengths:
        return plan
    if plan.central:
        data = perturb(data, plan.way.epsilon, np.random.default_rng((seed, 0)))
    seen = data if tuning.on_test else validation_split(data, seed)
    share = len(seen.y_train) / len(data.y_train)
    fewest, most = len(np.unique(seen.person)), len(seen.y_train)
    devices = min(max(round(share * plan.crowd.devices), fewest), most)
    tried = replace(plan, crowd=replace(plan.crowd, devices=devices))
    way = _best(seen, tried, [replace(plan.way, c=c) for c in rates], seed, engine)
    ways = [replace(way, regularization=strength) for strength in strengths]
    way = _best(seen, replace(tried, way=way), ways, seed, engine)
    return replace(plan, way=way)


def _best(
    data: Dataset, plan: Plan, ways: list[Learning], seed: int, engine: str | None
) -> Learning:
    """The way with the smallest final error, the plan's own if there are none to try."""
    if not ways:
        return plan.way
    if plan.approach == "crowd":
        curves = simulate(data, [(plan.crowd, way) for way in ways], 1, seed, 1, engine)
        finals = [curve.final for curve in curves]
    else:
        calls: list[Any] = [
            joblib.delayed(_learn)(data, replace(plan, way=way), (seed, 0), 1) for way in ways
        ]
        finals = [float(lane.errors[-1]) for lane in run_jobs(calls, engine, data)]
    return ways[int(np.argmin(finals))]

"""One trial: deal the samples, make a schedule, fold it for each way of learning, test."""

import math
import time
import warnings
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from crowdml.models import LinearModel, Model
from crowdml.simulation.arrivals import arrive
from crowdml.simulation.datasets import Dataset
from crowdml.simulation.fast_noise import seed_streams
from crowdml.simulation.kernel import MODELS, OPTIMIZERS, fold, gather
from crowdml.simulation.schedule import Schedule, make_schedule
from crowdml.simulation.settings import Crowd, Learning
from crowdml.types import Array, Ints

__all__ = ["OPTIMIZER_CODES", "Lane", "fold_slowly", "learn", "prepare", "run_trial"]

Float32s = npt.NDArray[np.float32]

OPTIMIZER_CODES = {
    (optimizer, rate): OPTIMIZERS[rate if optimizer == "sgd" else optimizer]
    for optimizer in ("sgd", "adagrad", "dual-averaging", "auto")
    for rate in ("sqrt", "constant", "inverse")
}


@dataclass(frozen=True)
class Lane:
    """What one trial of one setting gave.

    Args:
        samples: The clock at each point: samples generated so far.
        errors: The test error there.
        online_errors: The time-averaged error of predictions made before learning from them.
        w: The parameters in the end.
        checkins: How many there were.
        epsilon_per_sample: What the most used sample lost.
        epsilon_per_device: What the busiest device spent over its check-ins.
        seconds: How long the fold and the tests took.
    """

    samples: Ints
    errors: Array
    online_errors: Array
    w: Array
    checkins: int
    epsilon_per_sample: float
    epsilon_per_device: float
    seconds: float = 0.0


def run_trial(
    data: Dataset,
    crowd: Crowd,
    ways: list[Learning],
    seed: tuple[int, ...],
    points: int = 30,
    first: int = 0,
) -> list[Lane]:
    """All ways of learning on the same schedule, each with noise of its own.

    The noise is that of the ways' numbers, which begin with `first`: a part of a longer list of
    ways gives the same as the whole list.
    """
    rng = np.random.default_rng(seed)
    schedule = prepare(data, crowd, rng)
    ticks = len(data.y_train) * crowd.passes
    samples = np.linspace(0, ticks, points + 1).astype(np.int64)
    stops = np.searchsorted(schedule.tick, samples, side="right")
    return [
        _run_lane(data, schedule, way, samples, stops, np.random.default_rng([*seed, 1 + number]))
        for number, way in enumerate(ways, start=first)
    ]


def prepare(data: Dataset, crowd: Crowd, rng: np.random.Generator) -> Schedule:
    """Deal the samples and let the clock run."""
    device_of_sample = data.assign(crowd.devices, rng, crowd.skew, crowd.spread)
    arrivals = arrive(device_of_sample.astype(np.int32), crowd.passes, rng, crowd.presence)
    return make_schedule(arrivals, crowd.devices, crowd.batch, crowd.delay, crowd.buffer, rng)


def _run_lane(
    data: Dataset,
    schedule: Schedule,
    way: Learning,
    samples: Ints,
    stops: Ints,
    rng: np.random.Generator,
) -> Lane:
    began = time.perf_counter()
    model = way.make_model(data.x_train.shape[1], len(data.labels))
    w, wrong = learn(data, schedule, way, model, stops, rng)
    errors = np.array([model.mistakes(row, data.x_test, data.y_test).mean() for row in w])
    used = np.concatenate([[0], schedule.start[stops[1:]]])
    counted = np.concatenate([[0], np.cumsum(wrong)])[stops]
    per_checkin = np.bincount(schedule.device) if schedule.n_checkins else np.zeros(1, np.int64)
    uses = np.bincount(schedule.used) if len(schedule.used) else np.zeros(1, np.int64)
    return Lane(
        samples=samples,
        errors=errors,
        online_errors=counted / np.maximum(used, 1),
        w=w[-1],
        checkins=schedule.n_checkins,
        epsilon_per_sample=_times(way.epsilon, int(uses.max())),
        epsilon_per_device=_times(way.epsilon, int(per_checkin.max())),
        seconds=time.perf_counter() - began,
    )


def _times(epsilon: float, n: int) -> float:
    """n·ε, and 0 if nothing was sent at all."""
    return n * epsilon if n else 0.0


def learn(
    data: Dataset,
    schedule: Schedule,
    way: Learning,
    model: Model,
    stops: Ints,
    rng: np.random.Generator,
) -> tuple[Array, Ints]:
    """The parameters after `stops[i]` check-ins, row by row, and n_e of every check-in."""
    if not way.compiled:
        what = "this model or optimizer" if way.own_model or way.own_optimizer else way.optimizer
        warnings.warn(f"{what} is not compiled and runs in plain NumPy, slowly.", stacklevel=2)
        return fold_slowly(data, schedule, way, model, stops, rng)
    assert isinstance(model, LinearModel)
    return _fold_fast(data, schedule, way, model, stops, rng)


def _fold_fast(
    data: Dataset,
    schedule: Schedule,
    way: Learning,
    model: LinearModel,
    stops: Ints,
    rng: np.random.Generator,
) -> tuple[Array, Ints]:
    x, l1_norms = gather(data.x_train, schedule.used, model.intercept)
    wrong = np.zeros(schedule.n_checkins, np.int64)
    w = fold(
        x,
        model.n_features + model.intercept,
        data.y_train[schedule.used].astype(np.float32),
        l1_norms,
        schedule.start,
        schedule.version,
        MODELS[way.model],
        model.n_scores,
        np.float32(way.l1_limit(model)),
        np.float32(way.delta),
        np.float32(way.tolerance),
        OPTIMIZER_CODES[way.optimizer, way.rate],
        way.c,
        np.float32(way.regularization),
        way.radius,
        -1.0 if way.averaging is None else way.averaging,
        laplace_scales(way, model, schedule),
        seed_streams(rng),
        stops,
        wrong,
    )
    return _in_model_order(w.astype(np.float64), model), wrong


def laplace_scales(way: Learning, model: Model, schedule: Schedule) -> Float32s:
    """The scale of the device's own noise for every n that occurs, in units of the gradient."""
    sizes = np.unique(np.diff(schedule.start))
    scales = np.zeros(int(sizes.max(initial=0)) + 1, np.float32)
    if math.isinf(way.epsilon):
        return scales
    sanitizer = way.sanitizer(model)
    for n in sizes.tolist():
        release = sanitizer.event(n, 0).releases[0]
        scales[n] = math.ldexp(release.sensitivity / release.epsilon, sanitizer.grid(n))
    return scales


def _in_model_order(w: Array, model: LinearModel) -> Array:
    """From K×(D+1) with the intercept last in each row to K×D, then the K intercepts."""
    if not model.intercept:
        return w
    cube = w.reshape(len(w), model.n_scores, model.n_features + 1)
    return np.hstack([cube[:, :, :-1].reshape(len(w), -1), cube[:, :, -1]])


def fold_slowly(
    data: Dataset,
    schedule: Schedule,
    way: Learning,
    model: Model,
    stops: Ints,
    rng: np.random.Generator,
) -> tuple[Array, Ints]:
    """The same fold in plain NumPy, with any model and any optimizer: the obvious version."""
    optimizer, limit = way.make_optimizer(), way.l1_limit(model)
    scales = laplace_scales(way, model, schedule)
    w = np.zeros(model.size)
    state, versions = optimizer.init(w), [w]
    oldest, depth = 0, int(schedule.staleness.max(initial=0)) + 1
    out, wrong = np.zeros((len(stops), model.size)), np.zeros(schedule.n_checkins, np.int64)
    for i in range(schedule.n_checkins):
        rows = schedule.used[schedule.start[i] : schedule.start[i + 1]]
        x, y, then = data.x_train[rows], data.y_train[rows], versions[schedule.version[i] - oldest]
        wrong[i] = model.mistakes(then, x, y).sum()
        g = model.mean_gradient(then, x, y, limit) + way.regularization * then
        if scales[len(rows)] > 0:
            g = g + rng.laplace(0.0, scales[len(rows)], model.size)
        state, w = optimizer.update(state, w, g, int(schedule.device[i]))
        versions.append(w)
        if len(versions) > depth:
            versions.pop(0)
            oldest += 1
        out[stops == i + 1] = optimizer.model(state, w)
    return out, wrong

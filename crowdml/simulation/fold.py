"""Step two: fold a schedule of check-ins into parameters, compiled where that is possible."""

import math
import warnings

import numpy as np
import numpy.typing as npt

from crowdml.models import LinearModel, Model
from crowdml.simulation.datasets import Dataset
from crowdml.simulation.fast_noise import seed_streams
from crowdml.simulation.kernel import MODELS, OPTIMIZERS, fold, gather
from crowdml.simulation.schedule import Schedule
from crowdml.simulation.settings import Learning
from crowdml.types import Array, Ints

__all__ = ["fold_slowly", "laplace_scales", "learn"]

Float32s = npt.NDArray[np.float32]


def learn(
    data: Dataset, schedule: Schedule, learning: Learning, stops: Ints, rng: np.random.Generator
) -> tuple[Array, Ints]:
    """The parameters after `stops[i]` check-ins, row by row, and n_e of every check-in."""
    if not learning.compiled:
        own = learning.own_model or learning.own_optimizer
        what = "this model or optimizer" if own else learning.optimizer
        warnings.warn(f"{what} is not compiled and runs in plain NumPy, slowly.", stacklevel=2)
        return fold_slowly(data, schedule, learning, stops, rng)
    model = learning.model_for(data)
    assert isinstance(model, LinearModel)
    x, l1_norms = gather(data.x_train, schedule.used, model.intercept)
    wrong = np.zeros(schedule.n_checkins, np.int64)
    w = fold(
        x,
        model.n_features + model.intercept,
        data.y_train[schedule.used].astype(np.float32),
        l1_norms,
        schedule.start,
        schedule.version,
        MODELS[learning.model],
        model.n_scores,
        np.float32(learning.l1_limit(model)),
        np.float32(learning.delta),
        np.float32(learning.tolerance),
        OPTIMIZERS[learning.step],
        learning.c,
        np.float32(learning.regularization),
        learning.radius,
        -1.0 if learning.averaging is None else learning.averaging,
        laplace_scales(learning, model, schedule),
        seed_streams(rng),
        stops,
        wrong,
    )
    return _in_model_order(w.astype(np.float64), model), wrong


def fold_slowly(
    data: Dataset, schedule: Schedule, learning: Learning, stops: Ints, rng: np.random.Generator
) -> tuple[Array, Ints]:
    """The same in plain NumPy, with any model and any optimizer: the obvious version."""
    model, optimizer = learning.model_for(data), learning.make_optimizer()
    limit, scales = learning.l1_limit(model), laplace_scales(learning, model, schedule)
    w = np.zeros(model.size)
    state, versions = optimizer.init(w), [w]
    oldest, depth = 0, int(schedule.staleness.max(initial=0)) + 1
    out, wrong = np.zeros((len(stops), model.size)), np.zeros(schedule.n_checkins, np.int64)
    for i in range(schedule.n_checkins):
        rows = schedule.used[schedule.start[i] : schedule.start[i + 1]]
        x, y, then = data.x_train[rows], data.y_train[rows], versions[schedule.version[i] - oldest]
        wrong[i] = model.mistakes(then, x, y).sum()
        g = model.mean_gradient(then, x, y, limit) + learning.regularization * then
        if scales[len(rows)] > 0:
            g = g + rng.laplace(0.0, scales[len(rows)], model.size)
        state, w = optimizer.update(state, w, g, int(schedule.device[i]))
        versions.append(w)
        if len(versions) > depth:
            versions.pop(0)
            oldest += 1
        out[stops == i + 1] = optimizer.model(state, w)
    return out, wrong


def laplace_scales(learning: Learning, model: Model, schedule: Schedule) -> Float32s:
    """The scale of the device's own noise for every n that occurs, in units of the gradient."""
    sizes = np.unique(np.diff(schedule.start))
    scales = np.zeros(int(sizes.max(initial=0)) + 1, np.float32)
    if math.isinf(learning.epsilon):
        return scales
    sanitizer = learning.sanitizer(model)
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

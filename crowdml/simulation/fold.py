"""Step two: fold a schedule of check-ins into parameters, compiled where that is possible."""

import warnings
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from crowdml.models import LinearModel
from crowdml.simulation.datasets import Dataset
from crowdml.simulation.fast_noise import seed_streams
from crowdml.simulation.hiding import Hiding
from crowdml.simulation.kernel import LAWS, MODELS, OPTIMIZERS, fold, gather
from crowdml.simulation.schedule import Schedule
from crowdml.simulation.settings import Learning, Rule
from crowdml.types import Array, Ints

__all__ = ["Ready", "fold_slowly", "learn"]

Float32s = npt.NDArray[np.float32]


def learn(
    data: Dataset, schedule: Schedule, learning: Learning, stops: Ints, rng: np.random.Generator
) -> tuple[Array, Ints]:
    """The parameters after `stops[i]` check-ins, row by row, and n_e of every check-in."""
    if learning.compiled:
        return Ready.of(data, schedule, learning).fold(stops, rng)
    own = learning.own_model or learning.own_optimizer
    what = "this model or optimizer" if own else learning.optimizer
    warnings.warn(f"{what} is not compiled and runs in plain NumPy, slowly.", stacklevel=2)
    return fold_slowly(data, schedule, learning, stops, rng)


class Ready(NamedTuple):
    """All that the compiled fold needs but chance.

    Args:
        x, lengths, y: The samples in the order of their use, as `gather` makes them.
        schedule: Who uses which of them.
        learning: How it learns.
        rule: What follows from both.
    """

    x: Float32s
    lengths: Float32s
    y: Float32s
    schedule: Schedule
    learning: Learning
    rule: Rule

    @classmethod
    def of(cls, data: Dataset, schedule: Schedule, learning: Learning) -> "Ready":
        rule, used = learning.rule(data, schedule), schedule.used
        norm = rule.hiding.norm
        x, lengths = gather(data.x_train, used, learning.intercept, norm, not data.raw)
        return cls(x, lengths, data.y_train[used].astype(np.float32), schedule, learning, rule)

    def fold(self, stops: Ints, rng: np.random.Generator) -> tuple[Array, Ints]:
        schedule, learning, (model, hiding, step) = self.schedule, self.learning, self.rule
        assert isinstance(model, LinearModel)
        wrong = np.zeros(schedule.n_checkins, np.int64)
        streams = seed_streams(rng)
        w = fold(
            self.x,
            model.n_features + model.intercept,
            self.y,
            self.lengths,
            schedule.start,
            schedule.version,
            MODELS[learning.model],
            model.n_scores,
            hiding.norm,
            np.float32(hiding.clip),
            np.float32(getattr(model, "delta", 0.0)),
            np.float32(getattr(model, "tolerance", 0.0)),
            OPTIMIZERS[learning.step],
            step.c,
            np.float32(learning.regularization),
            learning.radius,
            -1.0 if step.averaging is None else step.averaging,
            LAWS[hiding.law],
            _scales(hiding, schedule),
            np.float32(hiding.length),
            hiding.draws(schedule.n_checkins, rng).astype(np.float32),
            streams,
            stops,
            wrong,
        )
        return _in_model_order(w.astype(np.float64), model), wrong


def fold_slowly(
    data: Dataset, schedule: Schedule, learning: Learning, stops: Ints, rng: np.random.Generator
) -> tuple[Array, Ints]:
    """The same in plain NumPy, with any model and any optimizer: the obvious version."""
    rule = learning.rule(data, schedule)
    model, hiding, optimizer = rule.model, rule.hiding, learning.make_optimizer(rule)
    seen, draws = data.bounded(hiding.norm), hiding.draws(schedule.n_checkins, rng)
    w = np.zeros(model.size)
    state, versions = optimizer.init(w), [w]
    oldest, depth = 0, int(schedule.staleness.max(initial=0)) + 1
    out, wrong = np.zeros((len(stops), model.size)), np.zeros(schedule.n_checkins, np.int64)
    for i in range(schedule.n_checkins):
        rows = schedule.used[schedule.start[i] : schedule.start[i + 1]]
        x, y, then = seen.x_train[rows], seen.y_train[rows], versions[schedule.version[i] - oldest]
        wrong[i] = model.mistakes(then, x, y).sum()
        g = model.mean_gradient(then, x, y, hiding.clip, hiding.norm)
        g = hiding.hide(g + learning.regularization * then, len(rows), draws[i], rng)
        state, w = optimizer.update(state, w, g, int(schedule.device[i]))
        versions.append(w)
        if len(versions) > depth:
            versions.pop(0)
            oldest += 1
        out[stops == i + 1] = optimizer.model(state, w)
    return out, wrong


def _scales(hiding: Hiding, schedule: Schedule) -> Float32s:
    """The scale of the noise for every n that occurs, in units of the gradient."""
    sizes = np.unique(np.diff(schedule.start))
    scales = np.zeros(int(sizes.max(initial=0)) + 1, np.float32)
    for n in sizes.tolist():
        scales[n] = hiding.scale(n)
    return scales


def _in_model_order(w: Array, model: LinearModel) -> Array:
    """From K×(D+1) with the intercept last in each row to K×D, then the K intercepts."""
    if not model.intercept:
        return w
    cube = w.reshape(len(w), model.n_scores, model.n_features + 1)
    return np.hstack([cube[:, :, :-1].reshape(len(w), -1), cube[:, :, -1]])

"""Fold a schedule of check-ins into parameters (step two), compiled where that is possible."""

import warnings
from typing import NamedTuple

import numpy as np

from crowdml.learning import CheckinStep, length_limit
from crowdml.models import LinearModel
from crowdml.privacy import CheckinEstimates, StandIn
from crowdml.simulation.compiled import (
    LAWS,
    MODELS,
    OPTIMIZERS,
    Float32s,
    FoldSetting,
    OrderedSamples,
    fold,
    gather,
    seed_streams,
)
from crowdml.simulation.crowd_settings import Learning
from crowdml.simulation.datasets import Dataset
from crowdml.simulation.learning_setup import LearningSetup
from crowdml.simulation.schedule import Schedule
from crowdml.types import Array, Ints


def learn(
    data: Dataset, schedule: Schedule, learning: Learning, stops: Ints, rng: np.random.Generator
) -> tuple[Array, Ints]:
    """Return the parameters after `stops[i]` check-ins, row by row, and n_e of every check-in."""
    law = LearningSetup.of(learning, data, schedule).stand_in.law
    if learning.compiled and law in LAWS:
        return FoldInputs.of(data, schedule, learning).fold(stops, rng)
    own = learning.own_model or learning.own_optimizer
    usual = learning.optimizer if law in LAWS else learning.mechanism
    what = "this model or optimizer" if own else usual
    warnings.warn(f"{what} is not compiled and runs in plain NumPy, slowly.", stacklevel=2)
    return fold_slowly(data, schedule, learning, stops, rng)


class FoldInputs(NamedTuple):
    """Hold everything that the compiled fold needs except randomness.

    Args:
        x, lengths, y: The samples in the order of their use, as `gather` makes them.
    """

    x: Float32s
    lengths: Float32s
    y: Float32s
    schedule: Schedule
    learning: Learning
    setup: LearningSetup

    @classmethod
    def of(cls, data: Dataset, schedule: Schedule, learning: Learning) -> "FoldInputs":
        setup, used = LearningSetup.of(learning, data, schedule), schedule.used
        norm = setup.stand_in.norm
        x, lengths = gather(data.x_train, used, learning.intercept, norm, not data.raw)
        return cls(x, lengths, data.y_train[used].astype(np.float32), schedule, learning, setup)

    def fold(self, stops: Ints, rng: np.random.Generator) -> tuple[Array, Ints]:
        schedule, stand_in = self.schedule, self.setup.stand_in
        wrong = np.zeros(schedule.n_checkins, np.int64)
        streams = seed_streams(rng)
        draws = _draws(stand_in, schedule, rng).astype(np.float32)
        order = schedule.start, schedule.version
        checkins = OrderedSamples(self.x, self.lengths, self.y, *order, draws)
        w = fold(checkins, self._setting(), streams, stops, wrong)
        return _in_model_order(w.astype(np.float64), self._model), wrong

    @property
    def _model(self) -> LinearModel:
        assert isinstance(self.setup.model, LinearModel)
        return self.setup.model

    def _setting(self) -> FoldSetting:
        learning, model = self.learning, self._model
        stand_in, spec = self.setup.stand_in, self.setup.spec
        limit = checkin_step(learning, self.setup).limit
        return FoldSetting(
            model=MODELS[learning.model],
            n_features=model.n_features + model.intercept,
            n_scores=model.n_scores,
            delta=np.float32(getattr(model, "delta", 0.0)),
            tolerance=np.float32(getattr(model, "tolerance", 0.0)),
            norm=stand_in.norm,
            clip=np.float32(stand_in.clip),
            regularization=np.float32(learning.regularization),
            law=LAWS[stand_in.law],
            scales=_scales(stand_in, self.schedule),
            length=np.float32(stand_in.length),
            ranked=stand_in.ranked,
            limit=np.float32(-1.0 if limit is None else limit),
            optimizer=OPTIMIZERS[learning.kernel_optimizer],
            c=float(spec.c or 0.0),
            radius=learning.radius,
            averaging=-1.0 if spec.averaging is None else spec.averaging,
            w0=_in_kernel_order(self.setup.w0, model).astype(np.float32),
        )


def checkin_step(learning: Learning, setup: LearningSetup) -> CheckinStep:
    """Make the server's own step for a crowd that learns with this setup."""
    limit = length_limit(setup.stand_in) if learning.limits_length else None
    return CheckinStep(setup.optimizer, limit)


def fold_slowly(
    data: Dataset, schedule: Schedule, learning: Learning, stops: Ints, rng: np.random.Generator
) -> tuple[Array, Ints]:
    """Fold in plain NumPy with the server's own step, for any model and any optimizer."""
    setup = LearningSetup.of(learning, data, schedule)
    model, stand_in, step = setup.model, setup.stand_in, checkin_step(learning, setup)
    seen, draws = data.bounded(stand_in.norm), _draws(stand_in, schedule, rng)
    state = step.start(model.size, w0=setup.w0)
    versions = [state.w]
    oldest, depth = 0, int(schedule.staleness.max(initial=0)) + 1
    out, wrong = np.tile(setup.w0, (len(stops), 1)), np.zeros(schedule.n_checkins, np.int64)
    for i in range(schedule.n_checkins):
        rows = schedule.used[schedule.start[i] : schedule.start[i + 1]]
        x, y, then = seen.x_train[rows], seen.y_train[rows], versions[schedule.version[i] - oldest]
        wrong[i] = model.mistakes(then, x, y).sum()
        g = model.mean_gradient(then, x, y, stand_in.clip, stand_in.norm)
        g = stand_in.hide(g + learning.regularization * then, len(rows), draws[i], rng)
        state = step(state, CheckinEstimates(g=g), int(schedule.device[i]), len(rows))
        versions.append(state.w)
        if len(versions) > depth:
            versions.pop(0)
            oldest += 1
        out[stops == i + 1] = step.optimizer.model(state.optimizer, state.w)
    return out, wrong


def _draws(stand_in: StandIn, schedule: Schedule, rng: np.random.Generator) -> Array:
    """Draw the random numbers of each check-in; liars choose theirs."""
    draws = stand_in.draws(schedule.n_checkins, rng)
    if len(schedule.liars):
        lying = np.isin(schedule.device, schedule.liars)
        draws[lying] = stand_in.lies(np.diff(schedule.start)[lying], rng)
    return draws


def _scales(stand_in: StandIn, schedule: Schedule) -> Float32s:
    """Return the scale of the noise for every n that occurs, in units of the gradient."""
    sizes = np.unique(np.diff(schedule.start))
    scales = np.zeros(int(sizes.max(initial=0)) + 1, np.float32)
    for n in sizes.tolist():
        scales[n] = stand_in.scale(n)
    return scales


def _in_model_order(w: Array, model: LinearModel) -> Array:
    """Reorder K×(D+1), with the intercept last in each row, to K×D and then the K intercepts."""
    if not model.intercept:
        return w
    cube = w.reshape(len(w), model.n_scores, model.n_features + 1)
    return np.hstack([cube[:, :, :-1].reshape(len(w), -1), cube[:, :, -1]])


def _in_kernel_order(w: Array, model: LinearModel) -> Array:
    """Invert `_in_model_order`, for one w."""
    if not model.intercept:
        return w
    weights = w[: -model.n_scores].reshape(model.n_scores, model.n_features)
    return np.hstack([weights, w[-model.n_scores :, None]]).ravel()

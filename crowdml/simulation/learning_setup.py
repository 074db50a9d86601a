"""Turn the settings of learning into a setup for given data and a given crowd."""

import math
from typing import NamedTuple

import numpy as np

from crowdml.errors import InvalidInput
from crowdml.models import MODELS, Model
from crowdml.optim import Optimizer
from crowdml.privacy import UNLIMITED, StandIn
from crowdml.protocol import MECHANISMS, Conditions, OptimizerSpec, ReachFromStart, WantedPrivacy
from crowdml.simulation.crowd_settings import Learning
from crowdml.simulation.datasets import Dataset
from crowdml.simulation.schedule import Schedule
from crowdml.types import Array


class LearningSetup(NamedTuple):
    """Hold how a given crowd learns from given data.

    Args:
        stand_in: How its gradients reach the server.
        spec: How the server steps, with nothing left to plan.
        optimizer: The same, ready to step.
        w0: The start of w.
    """

    model: Model
    stand_in: StandIn
    spec: OptimizerSpec
    optimizer: Optimizer
    w0: Array

    @classmethod
    def of(cls, learning: Learning, data: Dataset, schedule: Schedule) -> "LearningSetup":
        """Derive the mechanism and the planned rate from the data and the crowd."""
        scale, model = scale_of(learning, data), model_for(learning, data)
        if data.raw and not math.isinf(learning.epsilon):
            raise InvalidInput(f"{data.name} has features without a bound: epsilon must be inf.")
        stand_in = make_stand_in(
            learning, model, schedule.batch, schedule.checkins, scale, schedule.heldout
        )
        reach = MECHANISMS[learning.mechanism].default_reach(model, scale)
        start_reach = _start_reach(learning, model, scale)
        updates = schedule.updates or max(1, schedule.n_checkins)
        spec = learning.spec.with_plan(updates, stand_in, reach, start_reach)
        optimizer = learning.own_optimizer or spec.make(learning.radius)
        return cls(model, stand_in, spec, optimizer, _initial_parameters(learning, model))


def _start_reach(learning: Learning, model: Model, scale: float) -> ReachFromStart | None:
    """Return what decides D from the start, if the start's uncertainty is known."""
    start = learning.start
    if start is None or start.distance is None or start.rows is None:
        return None
    return ReachFromStart(start.distance, start.rows, start.people, model.size, scale)


def _initial_parameters(learning: Learning, model: Model) -> Array:
    """Return w before the first check-in: the start, or zero."""
    if learning.start is None:
        return np.zeros(model.size)
    w = np.array(learning.start.w)
    if len(w) != model.size:
        raise InvalidInput(
            f"a start must have as many parameters as the model, {model.size}, found {len(w)}."
        )
    return w


def make_model(learning: Learning, n_features: int, n_classes: int, scale: float = 1.0) -> Model:
    """Make the model of these settings."""
    if learning.own_model is not None:
        return learning.own_model(n_features, n_classes)
    kind = MODELS[learning.model]
    if kind.classifier != (n_classes > 0):
        what = "labels and needs some" if kind.classifier else "a number and takes no labels"
        fitting = [name for name, other in MODELS.items() if other.classifier == (n_classes > 0)]
        raise InvalidInput(
            f"{learning.model} predicts {what}, found {n_classes}. Use {' or '.join(fitting)}."
        )
    settings = {"delta": learning.delta or scale, "tolerance": learning.tolerance or scale}
    return kind.model(n_features, n_classes, learning.intercept, **settings)


def scale_of(learning: Learning, data: Dataset) -> float:
    """Return the typical size of a real target, which a task states beforehand; 1 for labels."""
    return learning.scale or data.target_scale


def model_for(learning: Learning, data: Dataset) -> Model:
    """Make the model for these data."""
    scale = scale_of(learning, data)
    return make_model(learning, data.x_train.shape[1], len(data.labels), scale)


def make_stand_in(
    learning: Learning,
    model: Model,
    batch: int,
    checkins: int = 1,
    scale: float = 1.0,
    heldout: float = 0.0,
) -> StandIn:
    """Make the mechanism of a task with these settings; see `Learning.privacy`."""
    kind, noisy = MECHANISMS[learning.mechanism], not math.isinf(learning.epsilon)
    free = not noisy and not learning.planned  # no noise, and no rate that depends on S
    clip = learning.clip or (UNLIMITED if free else None)
    conditions = Conditions(
        model=model,
        clip=kind.clip_or_default(clip, model, scale, learning.planned),
        regularization=learning.regularization,
        radius=learning.radius,
        batch=batch,
        heldout=heldout,
        checkins=checkins,
        scale=scale,
    )
    terms = learning.privacy
    if terms is None:
        # Without noise only S is needed, which does not depend on ε.
        epsilon = learning.epsilon if noisy else 1.0
        has_labels = model.n_classes > 0
        terms = kind.terms.of(
            WantedPrivacy(epsilon, has_labels=has_labels, checkins=checkins, gradient_only=True)
        )
    stand_in = terms.make(conditions).stand_in(noisy)
    if free and clip:
        stand_in.clip = clip
    return stand_in

"""Turn a task and a crowd into plans to simulate, and the plans' curves into options."""

from dataclasses import replace
from typing import NamedTuple

import msgspec

from crowdml.privacy import Unit
from crowdml.protocol import MECHANISMS, CollectionSpec, OptimizerSpec, Task
from crowdml.simulation.advice.advice import LIARS_SIMULATED, ExpectedCrowd, PlanOption
from crowdml.simulation.advice.interval import error_interval
from crowdml.simulation.crowd_settings import Crowd, Learning
from crowdml.simulation.curve import Curve
from crowdml.simulation.plan import Plan
from crowdml.simulation.schedule import uniform_delay

MOST_SAMPLES = 400_000
MOST_NUMBERS = 8_000_000
"""The most numbers in all samples together; of a larger crowd only a part is simulated."""


ROLES = ("heldout", "evaluators", "counters")
"""Fields of some mechanisms: samples or check-ins that do not train."""


class TaskVariant(NamedTuple):
    """Describe a way to run a task.

    Args:
        mechanism: One of `MECHANISMS`.
        batch: b.
        checkins: K.
    """

    mechanism: str
    batch: int
    checkins: int


def samples_of(task: Task, expected: ExpectedCrowd) -> int:
    """Return the number of samples of the crowd, at most as many as a simulation may have."""
    most = min(MOST_SAMPLES, MOST_NUMBERS // task.terms.features.count)
    return min(expected.devices * expected.samples, max(most, expected.samples))


def devices_of(task: Task, expected: ExpectedCrowd) -> int:
    """Return the number of devices whose samples a simulation of bounded size can hold."""
    return samples_of(task, expected) // expected.samples


def own_variant(task: Task, expected: ExpectedCrowd) -> TaskVariant | None:
    """Return the variant that the task describes, or None if a device has too few samples for it.

    With noise the number of samples decides K.
    """
    collection = task.terms.collection
    checkins = collection.checkins or expected.samples // collection.batch
    enough = 0 < collection.batch * checkins <= expected.samples
    return TaskVariant(task.terms.mechanism_name, collection.batch, checkins) if enough else None


def task_of_variant(task: Task, devices: int, variant: TaskVariant) -> Task:
    """Return the task as `recommended_fields` would change it: run as this variant, for `devices`.

    What the task says of its mechanism stays where the other mechanism has the same field. crowdml
    chooses the optimizer and S.
    """
    terms, kind = task.terms, MECHANISMS[variant.mechanism]
    own, shared = terms.collection, kind.options & terms.kind.options
    kept = {name for name in ROLES if f"collection.{name}" in shared}
    spec = CollectionSpec(
        variant.batch, checkins=variant.checkins, **{name: getattr(own, name) for name in kept}
    )
    clip = kind.clip_or_default(None, terms.make_model(), terms.target.scale, planned=True)
    model = msgspec.structs.replace(terms.model, clip=clip)
    collection = spec.terms(variant.mechanism, terms.n_classes)
    privacy = kind.terms.of(
        terms.privacy.wanted._replace(
            has_labels=terms.n_classes > 0,
            heldout=int(collection.heldout * variant.batch) > 0,
            checkins=variant.checkins,
        )
    )
    terms = msgspec.structs.replace(terms, privacy=privacy, collection=collection, model=model)
    stop = msgspec.structs.replace(task.stop, updates=devices * variant.checkins)
    return msgspec.structs.replace(task, terms=terms, stop=stop, optimizer=OptimizerSpec())


def with_epsilon(task: Task, epsilon: float) -> Task:
    """Return the task at another ε; every part of ε keeps its share."""
    terms = task.terms
    if epsilon == float(terms.privacy.epsilon):
        return task
    heldout = int(terms.collection.heldout * terms.collection.batch) > 0
    wanted = terms.privacy.wanted.at(epsilon)._replace(
        has_labels=terms.n_classes > 0, heldout=heldout, checkins=terms.collection.checkins or 1
    )
    privacy = terms.kind.terms.of(wanted)
    return msgspec.structs.replace(task, terms=msgspec.structs.replace(terms, privacy=privacy))


def plan_for(task: Task, expected: ExpectedCrowd, devices: int) -> Plan:
    """Return the plan of a task as it is, with this many of the crowd's devices simulated.

    The task counts on `stop.updates` check-ins of all of the crowd, so on a part of them from a
    part of the crowd.
    """
    terms, step, collection = task.terms, task.optimizer, task.terms.collection
    part = devices / expected.devices
    crowd = Crowd(
        devices=devices,
        batch=collection.batch,
        buffer=collection.buffer,
        checkins=collection.checkins,
        delay=uniform_delay(expected.delay * part) if expected.delay else None,
        leaving=expected.leaving,
        skew=expected.skew,
        spread=expected.spread,
        evaluators=collection.evaluators,
        counters=collection.counters,
        heldout=collection.heldout,
        updates=max(1, round(task.t_max * part)),
    )
    learning = Learning(
        mechanism=terms.mechanism_name,
        epsilon=float(terms.privacy.epsilon),
        c=step.c or (None if step.planned else 1.0),
        rate=step.rate,
        optimizer=step.kind,
        averaging=step.averaging,
        reach=step.reach,
        clip=terms.model.clip,
        model=terms.model.kind,
        intercept=terms.model.intercept,
        regularization=terms.model.regularization,
        radius=terms.model.radius,
        scale=None if terms.n_classes else terms.target.scale,
        delta=terms.model.delta,
        tolerance=terms.model.tolerance,
        privacy=terms.privacy,
    )
    return Plan(crowd, learning)


def with_liars(plan: Plan) -> Plan:
    """Return the same plan for a crowd in which the share `LIARS_SIMULATED` of the devices lies."""
    return replace(plan, crowd=replace(plan.crowd, liars=LIARS_SIMULATED))


def option_of(task: Task, variant: TaskVariant, curve: Curve) -> PlanOption:
    """Describe what the curve of a task that is run as this variant means for people."""
    terms, sensor = task.terms, task.terms.features.sensor
    made, errors = terms.mechanism(), curve.errors[:, -1]
    low, high = error_interval(errors)
    return PlanOption(
        mechanism=variant.mechanism,
        batch=variant.batch,
        checkins=variant.checkins,
        error=curve.final,
        std=float(errors.std(ddof=1)) if len(errors) > 1 else 0.0,
        low=low,
        high=high,
        protects="person" if made.unit is Unit.CHECKIN else "sample",
        epsilon_per_person=curve.epsilon_per_person,
        minutes=sensor.every * variant.batch * variant.checkins / 60 if sensor else None,
        private_bytes=made.private_bytes * variant.checkins,
    )

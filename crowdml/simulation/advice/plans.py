"""From a task and a crowd to the plans that are simulated, and from their curves to options."""

from dataclasses import replace

from crowdml.privacy import Unit
from crowdml.protocol import MECHANISMS, CollectionSpec, Conditions, Task, Wanted
from crowdml.simulation.advice.advice import Gathering, Option
from crowdml.simulation.curve import Curve
from crowdml.simulation.delays import uniform_delay
from crowdml.simulation.plan import Plan
from crowdml.simulation.settings import Crowd, Learning

__all__ = [
    "MOST_NUMBERS",
    "MOST_SAMPLES",
    "devices_of",
    "option_of",
    "own_plan",
    "own_setting",
    "plan_for",
    "samples_of",
]

MOST_SAMPLES = 400_000
MOST_NUMBERS = 8_000_000
"""Features of all samples together: of a crowd with more, a part is simulated."""


def samples_of(task: Task, gathering: Gathering) -> int:
    """The samples of the crowd, or as many as a simulation of bounded size has."""
    most = min(MOST_SAMPLES, MOST_NUMBERS // task.terms.features.count)
    return min(gathering.devices * gathering.samples, max(most, gathering.samples))


def devices_of(task: Task, gathering: Gathering) -> int:
    """As many as have samples in a simulation of bounded size."""
    return samples_of(task, gathering) // gathering.samples


def own_setting(task: Task, gathering: Gathering) -> tuple[str, int, int] | None:
    """The task's own mechanism, b and K; with noise, K is what the samples give."""
    collection = task.terms.collection
    checkins = collection.checkins or gathering.samples // collection.batch
    enough = 0 < collection.batch * checkins <= gathering.samples
    return (task.terms.mechanism_name, collection.batch, checkins) if enough else None


def plan_for(task: Task, gathering: Gathering, mechanism: str, batch: int, checkins: int) -> Plan:
    """The plan of these settings, with the optimizer left to crowdml."""
    terms = task.terms
    spec = CollectionSpec(batch, checkins=checkins)
    own = terms.mechanism_name == mechanism
    roles = (terms.collection if own else spec.terms(mechanism, terms.n_classes)).roles
    crowd = Crowd(
        devices=devices_of(task, gathering),
        batch=batch,
        checkins=checkins,
        delay=uniform_delay(gathering.delay) if gathering.delay else None,
        skew=gathering.skew,
        evaluators=roles.evaluators,
        counters=roles.counters,
    )
    learning = Learning(
        mechanism=mechanism,
        epsilon=float(terms.privacy.epsilon),
        model=terms.model.kind,
        intercept=terms.model.intercept,
        regularization=terms.model.regularization,
        radius=terms.model.radius,
        scale=None if terms.n_classes else terms.target.scale,
        delta=terms.model.delta,
        tolerance=terms.model.tolerance,
    )
    return Plan(crowd, learning)


def own_plan(task: Task, gathering: Gathering, mechanism: str, batch: int, checkins: int) -> Plan:
    """The plan of these settings, with the optimizer that the task chooses itself."""
    plan, step = plan_for(task, gathering, mechanism, batch, checkins), task.optimizer
    learning = replace(
        plan.learning,
        c=step.c or (None if step.planned else 1.0),
        rate=step.rate,
        optimizer=step.kind,
        averaging=step.averaging,
        reach=step.reach,
        clip=task.terms.model.clip,
    )
    return replace(plan, learning=learning)


def option_of(
    task: Task,
    mechanism: str,
    batch: int,
    checkins: int,
    curve: Curve,
    epsilon: float | None = None,
) -> Option:
    """What the curve of these settings means for people; ε is the task's by default."""
    terms, sensor, kind = task.terms, task.terms.features.sensor, MECHANISMS[mechanism]
    epsilon = float(terms.privacy.epsilon) if epsilon is None else epsilon
    wanted = Wanted(epsilon, counted=terms.n_classes > 0, checkins=checkins)
    conditions = Conditions(terms.make_model(), batch=batch, checkins=checkins, clip=kind.clip)
    made = kind.terms.of(wanted).make(conditions)
    return Option(
        mechanism=mechanism,
        batch=batch,
        checkins=checkins,
        error=curve.final,
        std=float(curve.std[-1]),
        protects="person" if made.unit is Unit.CHECKIN else "sample",
        epsilon_per_person=curve.epsilon_per_person,
        minutes=sensor.every * batch * checkins / 60 if sensor else None,
        private_bytes=made.private_bytes * checkins,
    )

"""A task: what is learnt, on which terms, how the server steps and when it stops."""

import math
import tomllib
from collections.abc import Iterator
from operator import itemgetter
from typing import TYPE_CHECKING, Annotated, Any, Literal, Protocol, TypeAlias

import msgspec

from crowdml.errors import InvalidTask, Mistake
from crowdml.optim import OPTIMIZERS, RATES, Optimizer, audible, make_optimizer, planned_rate
from crowdml.phrase import Phrase
from crowdml.privacy import LARGEST_CHOICE, LARGEST_SHARE, Role, Unit
from crowdml.protocol.mechanisms import (
    LARGEST_EPSILON,
    MECHANISMS,
    SMALLEST_EPSILON,
    Wanted,
    levels_of,
    smallest_part,
)
from crowdml.protocol.names import TaskName
from crowdml.protocol.review import Rule, read, rule
from crowdml.protocol.rules import RULES, model_mistakes
from crowdml.protocol.terms import (
    CollectionTerms,
    Features,
    Line,
    ModelKind,
    ModelTerms,
    Positive,
    Purpose,
    Share,
    Target,
    Terms,
    Text,
    make_model,
)
from crowdml.protocol.wording import listed, number

__all__ = ["TASK_RULES", "CollectionSpec", "Enrolment", "OptimizerSpec", "Stop", "Task", "TaskFile"]

if TYPE_CHECKING:
    MechanismName: TypeAlias = str
    OptimizerKind: TypeAlias = str
    RateKind: TypeAlias = str
else:
    MechanismName = Literal[tuple(MECHANISMS)]
    OptimizerKind = Literal[tuple(OPTIMIZERS)]
    RateKind = Literal[tuple(RATES)]

FILE = "the task file"
REMOVE = Phrase("Remove it.")
T_MAX = 1_000_000
"""Check-ins after which a task ends, where it does not say."""

USUAL_PACE = 60.0
"""Check-ins a minute of one device at most, where neither the task nor a sensor says."""

EVALUATORS, COUNTERS = 0.15, 0.05
"""The shares of check-ins that evaluate and that count, where a task does not say."""

AVERAGING = 3.0
"""The power of the average of iterates that the planned rate is made for."""

EPSILON = Phrase(
    "a number from {least} to {most}, or inf for no noise",
    least=number(SMALLEST_EPSILON),
    most=number(LARGEST_EPSILON),
)
Part: TypeAlias = Annotated[float, msgspec.Meta(ge=SMALLEST_EPSILON, le=LARGEST_EPSILON)]


class ModelSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """[model]: as in the terms, but the clip may be left to the mechanism and the model."""

    kind: ModelKind
    clip: Positive | None = None
    regularization: Annotated[float, msgspec.Meta(ge=0, le=1e6)] = 0.0
    radius: Positive = 1000.0
    intercept: bool = False
    delta: Positive = 1.0
    tolerance: Positive = 1.0


class PrivacySpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """[privacy]: how people are protected, and how much they lose in all."""

    mechanism: MechanismName = "direction"
    epsilon: Annotated[
        float, msgspec.Meta(gt=0, description=str(EPSILON), extra={"words": EPSILON})
    ] = 4.0
    epsilon_e: Part | None = None
    epsilon_y: Part | None = None
    delta: Annotated[float, msgspec.Meta(ge=1e-15, le=0.01)] | None = None
    directions: Annotated[int, msgspec.Meta(ge=2, le=4096)] | None = None


class CollectionSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """[collection]: as in the terms, but most of it may be left out."""

    batch: Annotated[int, msgspec.Meta(ge=1, le=100_000)]
    buffer: Annotated[int, msgspec.Meta(ge=1, le=1_000_000)] | None = None
    heldout: Annotated[float, msgspec.Meta(ge=0, le=0.5)] | None = None
    checkins: Annotated[int, msgspec.Meta(ge=1, le=1_000_000)] | None = None
    evaluators: Share | None = None
    counters: Share | None = None

    def terms(self, mechanism: str, n_classes: int) -> CollectionTerms:
        whole = "collection.checkins" in MECHANISMS[mechanism].options
        evaluators, counters = self.evaluators, self.counters
        if evaluators is None:
            evaluators = min(EVALUATORS, LARGEST_SHARE - (counters or 0.0))
        if counters is None:
            counters = min(COUNTERS, LARGEST_SHARE - evaluators) if n_classes else 0.0
        return CollectionTerms(
            batch=self.batch,
            buffer=self.buffer or min(10 * self.batch, 1_000_000),
            heldout=self.heldout or 0.0,
            checkins=(self.checkins or 1) if whole else None,
            evaluators=evaluators if whole else 0.0,
            counters=counters if whole else 0.0,
        )


class Foreknown(Protocol):
    """What the planned rate needs to know of the gradients: see `Mechanism`."""

    @property
    def length(self) -> float: ...

    @property
    def noise_energy(self) -> float: ...


class OptimizerSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """[optimizer]: the update rule of the server; devices never see it.

    With nothing said, the rate is planned: constant, from what is known before the task starts.
    """

    kind: OptimizerKind = "sgd"
    rate: RateKind | None = None
    c: Positive | None = None
    averaging: Annotated[float, msgspec.Meta(ge=0, le=1000)] | None = None
    reach: Positive | None = None

    @property
    def schedule(self) -> str:
        """The rate's name: a c given by hand is that of the paper's rate, c/√t."""
        return self.rate or ("planned" if self.c is None else "sqrt")

    @property
    def planned(self) -> bool:
        return self.schedule == "planned" and OPTIMIZERS[self.kind].has_rate

    def settled(self, updates: float, known: Foreknown, reach: float) -> "OptimizerSpec":
        """With a planned c and its averaging written out.

        Args:
            updates: T.
            known: What the mechanism says beforehand of the gradients.
            reach: D, where none is given and the crowd is not lost in its noise.
        """
        if not self.planned:
            return self
        heard = audible(updates, known.length, known.noise_energy)
        reach *= math.sqrt(heard)
        return msgspec.structs.replace(
            self,
            rate="planned",
            c=planned_rate(self.reach or reach, updates, known.length, known.noise_energy),
            averaging=AVERAGING / heard if self.averaging is None else self.averaging,
        )

    def make(self, radius: float) -> Optimizer:
        return make_optimizer(self.kind, self.schedule, self.c or 1.0, radius, self.averaging)


class Stop(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """[stop]: after T_max updates, or when the error is surely at most ρ.

    The estimate comes from noisy counts, so "surely" means: over the last `window` check-ins
    with at least `samples` samples, the upper end of a one-sided interval with this
    `confidence` is at most `error`. Some devices may lie: each counts the same, one in twenty is
    taken to have counted no errors, and there must be at least so many `devices`.
    """

    updates: Annotated[int, msgspec.Meta(ge=1, le=10**12)] | None = None
    error: Annotated[float, msgspec.Meta(gt=0, lt=1)] | None = None
    window: Annotated[int, msgspec.Meta(ge=10, le=100_000)] = 200
    samples: Annotated[int, msgspec.Meta(ge=1)] | None = None
    confidence: Annotated[float, msgspec.Meta(gt=0.5, lt=1)] = 0.999
    devices: Annotated[int, msgspec.Meta(ge=1, le=100_000)] = 20


class Enrolment(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """[enrolment]: who may join, how often a device may check in, how late it may be."""

    mode: Literal["open", "invite"] = "open"
    checkins_per_minute: Annotated[float, msgspec.Meta(gt=0, le=1e12)] | None = None
    max_staleness: Annotated[int, msgspec.Meta(ge=0)] | None = None


class TaskFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What a person writes, in the order of docs/tasks.md."""

    name: TaskName
    title: Line
    objective: Text
    owner: Annotated[Line, msgspec.Meta(examples=["Jane Doe, Example University"])]
    contact: Annotated[Line, msgspec.Meta(examples=["study@example.org"])]
    purpose: Annotated[Purpose, msgspec.Meta(examples=["A free app; the model is published"])]
    sensors: Text
    features: Features
    target: Target = Target()
    model: ModelSpec
    privacy: PrivacySpec = PrivacySpec()
    collection: CollectionSpec
    optimizer: OptimizerSpec = OptimizerSpec()
    stop: Stop = Stop()
    enrolment: Enrolment = Enrolment()


class Task(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A valid task, as the server keeps it."""

    title: str
    objective: str
    terms: Terms
    optimizer: OptimizerSpec
    stop: Stop
    enrolment: Enrolment

    @property
    def name(self) -> str:
        """The task's name, by which devices know it."""
        return self.terms.task

    @property
    def t_max(self) -> int:
        """T_max, the check-ins after which the task ends."""
        return self.stop.updates or T_MAX

    @property
    def checkins_per_minute(self) -> float:
        """The most of one device: what is said, or twice what its sensor can honestly give."""
        said, sensor = self.enrolment.checkins_per_minute, self.terms.features.sensor
        if said is not None or sensor is None or sensor.kind == "manual" or not sensor.every:
            return USUAL_PACE if said is None else said
        return min(USUAL_PACE, 2 * 60 / (sensor.every * self.terms.collection.batch))

    @property
    def fewest_evaluated(self) -> int:
        """Predictions in the window before the target error may count as reached."""
        one_each = self.terms.mechanism().unit is Unit.CHECKIN
        return self.stop.samples or (min(200, self.stop.window) if one_each else 1000)

    @property
    def reach(self) -> float:
        """D: how far from the start w is expected to go; for numbers in units of their scale."""
        kind = MECHANISMS[self.terms.mechanism_name]
        usual = kind.reach_of(self.terms.n_classes, self.terms.target.scale)
        return self.optimizer.reach or usual

    def make_optimizer(self) -> Optimizer:
        """How the server steps, with all that the task leaves open settled from public numbers."""
        updates = self.t_max * self.terms.collection.roles.share(Role.TRAIN)
        spec = self.optimizer.settled(updates, self.terms.mechanism(), self.reach)
        return spec.make(self.terms.model.radius)

    @classmethod
    def from_toml(cls, text: str, *rules: Rule) -> "Task":
        """Parse a task file; `InvalidTask` has every wrong field, by these further rules too."""
        try:
            document = tomllib.loads(text)
        except (ValueError, RecursionError) as error:
            must = Phrase("must be valid TOML: {why}", why=str(error))
            raise InvalidTask(Mistake(FILE, must)) from error
        return _task(read(document, TaskFile, FILE, (*RULES, *TASK_RULES, *rules)))


def _task(file: TaskFile) -> Task:
    n_classes, spec = len(file.target.labels), file.privacy
    collection = file.collection.terms(spec.mechanism, n_classes)
    wanted = Wanted(
        epsilon=spec.epsilon,
        errors=spec.epsilon_e,
        labels=spec.epsilon_y,
        delta=spec.delta,
        directions=spec.directions,
        counted=n_classes > 0,
        heldout=int(collection.heldout * collection.batch) > 0,
        checkins=collection.checkins or 1,
    )
    kind = MECHANISMS[spec.mechanism]
    settings = {name: getattr(file.model, name) for name in ModelTerms.__struct_fields__}
    settings["clip"] = _clip(
        spec.mechanism,
        file.model,
        file.features.count,
        n_classes,
        file.target.scale,
        file.optimizer.planned,
    )
    terms = Terms(
        task=file.name,
        owner=file.owner,
        contact=file.contact,
        purpose=file.purpose,
        sensors=file.sensors,
        features=file.features,
        target=file.target,
        model=ModelTerms(**settings),
        privacy=kind.terms.of(wanted),
        collection=collection,
    )
    return Task(file.title, file.objective, terms, file.optimizer, file.stop, file.enrolment)


def _clip(
    mechanism: str,
    model: ModelSpec,
    n_features: int,
    n_classes: int,
    scale: float,
    planned: bool,
) -> float | None:
    """S: what is said, or what suits the planned rate; never more than the model's own bound."""
    kind = MECHANISMS[mechanism]
    if "model.clip" not in kind.options:
        return None
    usual = kind.clip * scale if planned else math.inf
    bare = ModelTerms(model.kind, intercept=model.intercept, delta=model.delta)
    bound = make_model(bare, n_features, n_classes).bound(kind.terms.norm)
    return min(model.clip or usual, bound)


@rule("privacy.mechanism", "model.kind", "model.clip", "model.intercept", "features.count",
      "target.labels", "target.scale", "optimizer.kind", "optimizer.rate",
      "optimizer.c")  # fmt: skip
def _gradients_are_bounded(
    mechanism: str,
    kind: ModelKind,
    clip: float | None,
    intercept: bool,
    count: int,
    labels: tuple[str, ...],
    scale: float,
    *optimizer: Any,
) -> Iterator[Mistake]:
    if list(model_mistakes(kind, intercept, count, len(labels))):
        return
    planned = OptimizerSpec(*optimizer).planned
    if _clip(mechanism, ModelSpec(kind, clip), count, len(labels), scale, planned) == math.inf:
        must = Phrase(
            "must be given for {kind}, whose gradients have no bound of their own", kind=kind
        )
        yield Mistake("model.clip", must, remedy=Phrase("Set it, say clip = 1.0."))


OPTIONS = sorted(frozenset.union(*(kind.options for kind in MECHANISMS.values())))


@rule("privacy.mechanism", *OPTIONS)
def _options_have_a_use(mechanism: str, *given: float | None) -> Iterator[Mistake]:
    for field, value in zip(OPTIONS, given, strict=True):
        if value is not None and field not in MECHANISMS[mechanism].options:
            others = [name for name, kind in MECHANISMS.items() if field in kind.options]
            must = Phrase(
                "is for the mechanism {some}, not for {mechanism}",
                some=listed(others),
                mechanism=mechanism,
            )
            yield Mistake(field, must, value, REMOVE)


@rule("privacy.mechanism", "privacy.epsilon", "collection.checkins")
def _a_direction_hides(mechanism: str, epsilon: float, checkins: int | None) -> Iterator[Mistake]:
    if mechanism != "direction":
        return
    if epsilon == math.inf:
        must = Phrase("must be finite for the mechanism direction, which always hides")
        remedy = Phrase('For a task that is NOT PRIVATE say mechanism = "laplace" as well.')
        yield Mistake("privacy.epsilon", must, "inf", remedy)
    elif epsilon / (checkins or 1) > LARGEST_CHOICE:
        must = Phrase(
            "must be at most {n} for a check-in of the mechanism direction", n=LARGEST_CHOICE
        )
        yield Mistake("privacy.epsilon", must, epsilon / (checkins or 1))


@rule("optimizer.kind", "optimizer.rate", "optimizer.c", "optimizer.averaging",
      "optimizer.reach", "stop.updates")  # fmt: skip
def _a_plan_needs_an_end(*settings: Any) -> Iterator[Mistake]:
    *optimizer, updates = settings
    spec = OptimizerSpec(*optimizer)
    if spec.planned and updates is None:
        must = Phrase("must say how many check-ins you expect, within a factor of four or so")
        remedy = Phrase(
            "Add it under [{table}], say {example}.", table="stop", example="updates = 1000"
        )
        yield Mistake("stop.updates", must, remedy=remedy)
    if not spec.planned and spec.reach is not None:
        must = Phrase("is for the planned rate, and another one is chosen")
        yield Mistake("optimizer.reach", must, spec.reach, REMOVE)


@rule("privacy.mechanism", "stop.window", "stop.samples")
def _a_window_holds_enough(mechanism: str, window: int, samples: int | None) -> Iterator[Mistake]:
    if mechanism == "direction" and samples is not None and samples > window:
        must = Phrase(
            "must be at most stop.window, {n}, where a check-in tells of one sample", n=window
        )
        yield Mistake("stop.samples", must, samples, Phrase("Widen the window, or lower it."))


@rule("privacy.epsilon")
def _finite_epsilon_is_some_noise(epsilon: float) -> Iterator[Mistake]:
    if not (SMALLEST_EPSILON <= epsilon <= LARGEST_EPSILON or epsilon == math.inf):
        yield Mistake("privacy.epsilon", Phrase("must be {what}", what=EPSILON), epsilon)


@rule("privacy.epsilon", "privacy.epsilon_e", "privacy.epsilon_y", "target.labels")
def _parts_have_a_use(
    epsilon: float, epsilon_e: float | None, epsilon_y: float | None, labels: tuple[str, ...]
) -> Iterator[Mistake]:
    if epsilon_y and not labels:
        must = Phrase("is for label counts, and target.labels has none")
        yield Mistake("privacy.epsilon_y", must, epsilon_y, REMOVE)
    for name, part in (("epsilon_e", epsilon_e), ("epsilon_y", epsilon_y)):
        if part and math.isinf(epsilon):
            must = Phrase(
                "must be left out where privacy.epsilon is inf, which means no noise at all"
            )
            yield Mistake(f"privacy.{name}", must, part, REMOVE)


@rule("privacy.mechanism", "privacy.delta", "privacy.epsilon", "privacy.epsilon_e",
      "privacy.epsilon_y", "target.labels", "collection.batch", "collection.heldout")  # fmt: skip
def _epsilon_is_enough_for_all(
    mechanism: str,
    delta: float | None,
    epsilon: float,
    epsilon_e: float | None,
    epsilon_y: float | None,
    labels: tuple[str, ...],
    batch: int,
    heldout: float | None,
) -> Iterator[Mistake]:
    if mechanism == "direction":
        return
    aside = int((heldout or 0.0) * batch) > 0
    wanted = Wanted(epsilon, epsilon_e, epsilon_y, delta, counted=bool(labels), heldout=aside)
    smallest = smallest_part(mechanism, wanted)
    g, e, y = levels_of(wanted)
    sent = [(g, Phrase("the gradient")), (e, Phrase("errors"))]
    sent += [(y, Phrase("labels"))] if labels else []
    least, whose = min(sent, key=itemgetter(0))
    if g <= 0 or (aside and e > g):
        name = "epsilon_e" if (epsilon_e or 0) >= (epsilon_y or 0) else "epsilon_y"
        must = Phrase("must leave a part of privacy.epsilon for the gradient")
        found = Phrase(
            "{errors} for errors and {labels} for labels of {all} in all",
            errors=e,
            labels=y,
            all=epsilon,
        )
        yield Mistake(f"privacy.{name}", must, found, Phrase("Lower it."))
    elif least < smallest:
        rounded = float(f"{smallest:.3g}")
        must = Phrase("must be enough for all its parts, {n} or more for each", n=rounded)
        found = Phrase(
            "{epsilon}, which leaves {least} for {part}", epsilon=epsilon, least=least, part=whose
        )
        remedy = Phrase("Raise it, or use inf for no noise.")
        yield Mistake("privacy.epsilon", must, found, remedy)


TASK_RULES = (
    _gradients_are_bounded,
    _options_have_a_use,
    _a_direction_hides,
    _a_plan_needs_an_end,
    _a_window_holds_enough,
    _finite_epsilon_is_some_noise,
    _parts_have_a_use,
    _epsilon_is_enough_for_all,
)

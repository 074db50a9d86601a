"""A task: what is learnt, on which terms, how the server steps and when it stops."""

import math
import tomllib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

import msgspec

from crowdml.errors import InvalidTask, Mistake
from crowdml.optim import OPTIMIZERS, RATES, Optimizer, make_optimizer
from crowdml.privacy import LARGEST_EPSILON, SMALLEST_EPSILON, Forecast, forecast
from crowdml.protocol.messages import NO_NEWLINE
from crowdml.protocol.review import Rule, read, rule
from crowdml.protocol.rules import RULES, model_mistakes
from crowdml.protocol.terms import (
    CollectionTerms,
    Features,
    ModelKind,
    ModelTerms,
    Positive,
    PrivacyTerms,
    Target,
    Terms,
    Text,
    make_model,
)

__all__ = ["Enrolment", "OptimizerSpec", "Stop", "Task", "TaskFile"]

if TYPE_CHECKING:
    OptimizerKind: TypeAlias = str
    RateKind: TypeAlias = str
else:
    OptimizerKind = Literal[tuple(OPTIMIZERS)]
    RateKind = Literal[tuple(RATES)]

FILE = "the task file"
SHARE = 0.05
"""The share of ε for each count, where a task does not say: they are for monitoring only."""

EPSILON = f"a number above 0 and at most {LARGEST_EPSILON:,.0f}, or inf for no noise"
Part: TypeAlias = Annotated[float, msgspec.Meta(ge=SMALLEST_EPSILON, le=LARGEST_EPSILON)]


class ModelSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """[model]: as in the terms, but the clip may be left to the model's own bound."""

    kind: ModelKind
    clip: Positive | None = None
    regularization: Annotated[float, msgspec.Meta(ge=0, le=1e6)] = 0.0
    radius: Positive = 1000.0
    intercept: bool = False
    delta: Positive = 1.0
    tolerance: Positive = 1.0

    def terms(self, n_features: int, n_classes: int) -> ModelTerms:
        fields = {name: getattr(self, name) for name in self.__struct_fields__ if name != "clip"}
        spec = ModelTerms(clip=self.clip or float("inf"), **fields)
        clip = min(spec.clip, make_model(spec, n_features, n_classes).l1_bound)
        return msgspec.structs.replace(spec, clip=clip)


class PrivacySpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """[privacy]: the total ε of a sample, and if wished how much of it the counts take."""

    epsilon: Annotated[float, msgspec.Meta(gt=0, description=EPSILON)]
    epsilon_e: Part | None = None
    epsilon_y: Part | None = None

    def terms(self, n_classes: int, heldout: bool) -> PrivacyTerms:
        """ε_g is what the counts leave; on held-out samples errors cost the gradient nothing."""
        if math.isinf(self.epsilon):
            return PrivacyTerms("inf", "inf", "inf", "inf" if n_classes else 0.0)
        labels = (self.epsilon_y or SHARE * self.epsilon) if n_classes else 0.0
        rest = self.epsilon - labels
        errors = self.epsilon_e or (rest if heldout else SHARE * self.epsilon)
        return PrivacyTerms(self.epsilon, rest if heldout else rest - errors, errors, labels)


class OptimizerSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """[optimizer]: the update rule of the server; devices never see it."""

    kind: OptimizerKind = "sgd"
    rate: RateKind = "sqrt"
    c: Positive = 1.0
    averaging: Annotated[float, msgspec.Meta(ge=0, le=1000)] | None = None

    def make(self, radius: float) -> Optimizer:
        return make_optimizer(self.kind, self.rate, self.c, radius, self.averaging)


class Stop(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """[stop]: after T_max updates, or when the error is surely at most ρ.

    The estimate comes from noisy counts, so "surely" means: over the last `window` check-ins
    with at least `samples` samples, the upper end of a one-sided interval with this
    `confidence` is at most `error`.
    """

    updates: Annotated[int, msgspec.Meta(ge=1, le=10**12)] = 1_000_000
    error: Annotated[float, msgspec.Meta(gt=0, lt=1)] | None = None
    window: Annotated[int, msgspec.Meta(ge=10, le=100_000)] = 200
    samples: Annotated[int, msgspec.Meta(ge=1)] = 1000
    confidence: Annotated[float, msgspec.Meta(gt=0.5, lt=1)] = 0.999


class Enrolment(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """[enrolment]: who may join, how often a device may check in, how late it may be."""

    mode: Literal["open", "invite"] = "open"
    checkins_per_minute: Annotated[float, msgspec.Meta(gt=0, le=1e12)] = 60.0
    max_staleness: Annotated[int, msgspec.Meta(ge=0)] | None = None


class TaskFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What a person writes, in the order of docs/tasks.md."""

    name: Annotated[
        str,
        msgspec.Meta(
            pattern=NO_NEWLINE + r"[a-z0-9][a-z0-9-]{0,62}$",
            description="1 to 63 lower-case letters, digits and hyphens, with no hyphen first",
        ),
    ]
    title: Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
    objective: Text
    sensors: Text
    features: Features
    target: Target = Target()
    model: ModelSpec
    privacy: PrivacySpec
    collection: CollectionTerms
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
        return self.terms.task

    def make_optimizer(self) -> Optimizer:
        return self.optimizer.make(self.terms.model.radius)

    def forecast(self) -> Forecast | None:
        """The noise to expect over all its check-ins; None where there is none."""
        terms = self.terms
        n_training = terms.event(terms.collection.batch).n_training
        return forecast(terms.sanitizer(), n_training, terms.n_classes, self.stop.updates)

    @classmethod
    def from_toml(cls, text: str, *rules: Rule) -> "Task":
        """Parse a task file; `InvalidTask` has every wrong field, by these further rules too."""
        try:
            document = tomllib.loads(text)
        except (ValueError, RecursionError) as error:
            raise InvalidTask(Mistake(FILE, f"must be valid TOML: {error}")) from error
        return _task(read(document, TaskFile, FILE, (*RULES, *TASK_RULES, *rules)))


def _task(file: TaskFile) -> Task:
    n_classes = len(file.target.labels)
    n_heldout = file.collection.n_heldout(file.collection.batch)
    terms = Terms(
        task=file.name,
        sensors=file.sensors,
        features=file.features,
        target=file.target,
        model=file.model.terms(file.features.count, n_classes),
        privacy=file.privacy.terms(n_classes, heldout=n_heldout > 0),
        collection=file.collection,
    )
    return Task(file.title, file.objective, terms, file.optimizer, file.stop, file.enrolment)


@rule("model.kind", "model.clip", "model.intercept", "features.count", "target.labels")
def _gradients_are_bounded(
    kind: ModelKind, clip: float | None, intercept: bool, count: int, labels: tuple[str, ...]
) -> Iterator[Mistake]:
    suits = not list(model_mistakes(kind, intercept, count, len(labels)))
    if suits and math.isinf(ModelSpec(kind, clip).terms(count, len(labels)).clip):
        must = f"must be given for {kind}, whose gradients have no bound of their own"
        yield Mistake("model.clip", must, remedy="Set it, say clip = 1.0.")


@rule("privacy.epsilon")
def _finite_epsilon_is_some_noise(epsilon: float) -> Iterator[Mistake]:
    if LARGEST_EPSILON < epsilon < math.inf:
        yield Mistake("privacy.epsilon", f"must be {EPSILON}", f"{epsilon:g}")


@rule("privacy.epsilon", "privacy.epsilon_e", "privacy.epsilon_y", "target.labels")
def _parts_have_a_use(
    epsilon: float, epsilon_e: float | None, epsilon_y: float | None, labels: tuple[str, ...]
) -> Iterator[Mistake]:
    if epsilon_y and not labels:
        must = "is for label counts, and target.labels has none"
        yield Mistake("privacy.epsilon_y", must, f"{epsilon_y:g}", "Remove it.")
    for name, part in (("epsilon_e", epsilon_e), ("epsilon_y", epsilon_y)):
        if part and math.isinf(epsilon):
            must = "must be left out where privacy.epsilon is inf, which means no noise at all"
            yield Mistake(f"privacy.{name}", must, f"{part:g}", "Remove it.")


@rule("privacy.epsilon", "privacy.epsilon_e", "privacy.epsilon_y", "target.labels",
      "collection.batch", "collection.heldout")  # fmt: skip
def _epsilon_is_enough_for_all(
    epsilon: float,
    epsilon_e: float | None,
    epsilon_y: float | None,
    labels: tuple[str, ...],
    batch: int,
    heldout: float,
) -> Iterator[Mistake]:
    n_heldout = CollectionTerms(batch, batch, heldout).n_heldout(batch)
    levels = PrivacySpec(epsilon, epsilon_e, epsilon_y).terms(len(labels), heldout=n_heldout > 0)
    g, e, y = (float(level) for level in (levels.epsilon_g, levels.epsilon_e, levels.epsilon_y))
    sent = {"the gradient": g, "errors": e} | ({"labels": y} if labels else {})
    least = min(sent, key=sent.__getitem__)
    if g <= 0 or (n_heldout and e > g):
        name = "epsilon_e" if (epsilon_e or 0) >= (epsilon_y or 0) else "epsilon_y"
        must = "must leave a part of privacy.epsilon for the gradient"
        found = f"{e:g} for errors and {y:g} for labels of {epsilon:g} in all"
        yield Mistake(f"privacy.{name}", must, found, "Lower it.")
    elif sent[least] < SMALLEST_EPSILON:
        must = f"must be enough for all its parts, {SMALLEST_EPSILON:g} or more for each"
        found = f"{epsilon:g}, which leaves {sent[least]:g} for {least}"
        yield Mistake("privacy.epsilon", must, found, "Raise it, or use inf for no noise.")


TASK_RULES = (
    _gradients_are_bounded,
    _finite_epsilon_is_some_noise,
    _parts_have_a_use,
    _epsilon_is_enough_for_all,
)

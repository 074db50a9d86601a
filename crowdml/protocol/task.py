"""A task: what is learnt, on which terms, how the server steps and when it stops."""

import tomllib
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

import msgspec

from crowdml.errors import InvalidTask, Mistake
from crowdml.optim import OPTIMIZERS, RATES, Optimizer, make_optimizer
from crowdml.privacy import Forecast, forecast
from crowdml.protocol.messages import NO_NEWLINE
from crowdml.protocol.review import Rule, read
from crowdml.protocol.rules import RULES
from crowdml.protocol.specs import SPEC_RULES, ModelSpec, PrivacySpec
from crowdml.protocol.terms import CollectionTerms, Features, Positive, Target, Terms, Text

__all__ = ["Enrolment", "OptimizerSpec", "Stop", "Task", "TaskFile"]

if TYPE_CHECKING:
    OptimizerKind: TypeAlias = str
    RateKind: TypeAlias = str
else:
    OptimizerKind = Literal[tuple(OPTIMIZERS)]
    RateKind = Literal[tuple(RATES)]

FILE = "the task file"


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
        return _task(read(document, TaskFile, FILE, (*RULES, *SPEC_RULES, *rules)))


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

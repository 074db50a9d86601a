"""A task: what is learnt, on which terms, how the server steps and when it stops."""

import re
import tomllib
from typing import Annotated, Any, Literal, get_args, get_type_hints

import msgspec

from crowdml.errors import CrowdmlError, InvalidTask
from crowdml.optim import (
    Optimizer,
    adagrad,
    average_gradient,
    averaged,
    constant,
    distance_over_gradients,
    dual_averaging,
    inverse,
    inverse_sqrt,
    sgd,
)
from crowdml.protocol.explain import explain
from crowdml.protocol.messages import NO_NEWLINE
from crowdml.protocol.terms import (
    LARGEST_EPSILON,
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

__all__ = ["Enrolment", "OptimizerSpec", "Stop", "Task"]

SHARE = 0.05
"""The share of ε for each count, where a task does not say: they are for monitoring only."""


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
        if clip == float("inf"):
            raise InvalidTask(
                f"model.clip must be a positive number for {self.kind}, whose gradient has no "
                "bound of its own, found none. Set it, say clip = 1.0."
            )
        return msgspec.structs.replace(spec, clip=clip)


class PrivacySpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """[privacy]: the total ε of a sample, and if wished how much of it the counts take."""

    epsilon: Annotated[float, msgspec.Meta(gt=0)]
    epsilon_e: Annotated[float, msgspec.Meta(gt=0, le=LARGEST_EPSILON)] | None = None
    epsilon_y: Annotated[float, msgspec.Meta(gt=0, le=LARGEST_EPSILON)] | None = None

    def terms(self, n_classes: int, heldout: bool) -> PrivacyTerms:
        """ε_g is what the counts leave; on held-out samples errors cost the gradient nothing."""
        if self.epsilon_y and not n_classes:
            raise InvalidTask(
                f"privacy.epsilon_y is for label counts, found {self.epsilon_y:g} without "
                "target.labels. Remove it."
            )
        if LARGEST_EPSILON < self.epsilon < float("inf"):
            raise InvalidTask(
                f"privacy.epsilon must be at most {LARGEST_EPSILON:g}, found {self.epsilon:g}. "
                "Use inf for no noise."
            )
        if self.epsilon == float("inf"):
            if self.epsilon_e or self.epsilon_y:
                raise InvalidTask(
                    "privacy.epsilon = inf means no noise at all, found epsilon_e or epsilon_y "
                    "beside it. Remove them."
                )
            return PrivacyTerms("inf", "inf", "inf", "inf" if n_classes else 0.0)
        labels = (self.epsilon_y or SHARE * self.epsilon) if n_classes else 0.0
        rest = self.epsilon - labels
        errors = self.epsilon_e or (rest if heldout else SHARE * self.epsilon)
        gradient = rest if heldout else rest - errors
        if gradient <= 0 or errors > rest:
            raise InvalidTask(
                f"privacy.epsilon must leave something for the gradient, found {self.epsilon:g} "
                f"with {errors:g} for errors and {labels:g} for labels. Lower these two."
            )
        return PrivacyTerms(self.epsilon, gradient, errors, labels)


class OptimizerSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """[optimizer]: the update rule of the server; devices never see it."""

    kind: Literal["sgd", "adagrad", "dual-averaging", "average-gradient", "auto"] = "sgd"
    rate: Literal["sqrt", "constant", "inverse"] = "sqrt"
    c: Positive = 1.0
    averaging: Annotated[float, msgspec.Meta(ge=0, le=1000)] | None = None

    def make(self, radius: float) -> Optimizer:
        rates = {"sqrt": inverse_sqrt, "constant": constant, "inverse": inverse}
        rate = rates[self.rate](self.c)
        match self.kind:
            case "sgd":
                optimizer = sgd(rate, radius)
            case "adagrad":
                optimizer = adagrad(self.c, radius)
            case "dual-averaging":
                optimizer = dual_averaging(self.c, radius)
            case "average-gradient":
                optimizer = average_gradient(rate, radius)
            case "auto":
                optimizer = distance_over_gradients(radius)
        return optimizer if self.averaging is None else averaged(optimizer, self.averaging)


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


class TaskFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    name: Annotated[str, msgspec.Meta(pattern=NO_NEWLINE + r"[a-z0-9][a-z0-9-]{0,62}$")]
    title: Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
    objective: Text
    sensors: Text
    features: Features
    target: Target
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

    @classmethod
    def from_toml(cls, text: str) -> "Task":
        """Parse a task file; every wrong field gets its own clear error."""
        try:
            document = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise InvalidTask(f"a task file must be valid TOML: {error}.") from error
        try:
            return _task(msgspec.convert(document, TaskFile))
        except msgspec.ValidationError as error:
            raise InvalidTask(_hint(explain(error, document))) from error
        except InvalidTask:
            raise
        except CrowdmlError as error:
            raise InvalidTask(str(error)) from error


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
    terms.check_cost()
    return Task(file.title, file.objective, terms, file.optimizer, file.stop, file.enrolment)


def _one_of(path: str) -> str:
    """The choices of a field.

    >>> _one_of("model.kind")
    'softmax, hinge, ridge or huber'
    """
    hint: Any = TaskFile
    for name in path.split("."):
        hint = get_type_hints(hint)[name]
        # A table that may be left out: Sensor | None.
        hint = next((part for part in get_args(hint) if hasattr(part, "__struct_fields__")), hint)
    *most, last = get_args(hint)
    return f"{', '.join(most)} or {last}"


def _hint(sentence: str) -> str:
    """Add what to do to the errors that people make most."""
    if choice := re.match(r"([\w.]+): invalid enum value", sentence):
        return f"{sentence} Use {_one_of(choice[1])}."
    hints = {
        r"^name: expected `str` matching": "Use lower-case letters, digits and hyphens.",
        r"^privacy\.epsilon:": "Use inf for no noise.",
        r"missing required field": "Add it.",
        r"unknown field": "Check its spelling, or remove it.",
    }
    for pattern, hint in hints.items():
        if re.search(pattern, sentence):
            return f"{sentence} {hint}"
    return sentence

"""Define the task file: what a person writes about a task, table by table."""

import math
from typing import Annotated, Any, Literal, TypeAlias

import msgspec

from crowdml.optim import OPTIMIZERS, RATES, Optimizer, make_optimizer, planned_rate, signal_ratio
from crowdml.phrase import Phrase
from crowdml.privacy import LARGEST_SHARE, Mechanism, StandIn
from crowdml.protocol.features import Features, Positive, Text
from crowdml.protocol.mechanisms import (
    LARGEST_EPSILON,
    MECHANISMS,
    SMALLEST_EPSILON,
    USUAL_MECHANISM,
    Epsilon,
)
from crowdml.protocol.start import ReachFromStart
from crowdml.protocol.task_name import TaskName
from crowdml.protocol.terms import (
    CheckinShare,
    CollectionTerms,
    LineText,
    ModelSettings,
    Purpose,
    Target,
)
from crowdml.protocol.wire import in_own_words
from crowdml.protocol.wording import number

OptimizerName: TypeAlias = Annotated[str, msgspec.Meta(extra={"names": OPTIMIZERS})]
RateName: TypeAlias = Annotated[str, msgspec.Meta(extra={"names": RATES})]
TASK_FILE = "the task file"
BOM = "\ufeff"
"""What some editors put before the first character of a file."""
EVALUATORS, COUNTERS = 0.15, 0.05
"""The shares of check-ins that evaluate and that count, where a task does not say."""

AVERAGING = 3.0
"""The power of the average of iterates that the planned rate is made for."""

EPSILON = Phrase(
    "a number from {least} to {most}, or inf for no noise",
    least=number(SMALLEST_EPSILON),
    most=number(LARGEST_EPSILON),
)


class ModelSpec(ModelSettings, frozen=True, forbid_unknown_fields=True):
    """Hold [model]: as in the terms, with the start's file and words about its pilot."""

    start: LineText | None = None
    pilot: Text = ""


class PrivacySpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Hold [privacy]: how people are protected, and their total loss."""

    mechanism: Annotated[str, msgspec.Meta(extra={"names": MECHANISMS})] = USUAL_MECHANISM
    epsilon: Annotated[float, in_own_words(EPSILON, gt=0)] = 4.0
    epsilon_e: Epsilon | None = None
    epsilon_y: Epsilon | None = None
    delta: Annotated[float, msgspec.Meta(ge=1e-15, le=0.01)] | None = None
    directions: Annotated[int, msgspec.Meta(ge=2, le=4096)] | None = None


class CollectionSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Hold [collection]: as in the terms, but most fields are optional."""

    batch: Annotated[int, msgspec.Meta(ge=1, le=100_000)]
    buffer: Annotated[int, msgspec.Meta(ge=1, le=1_000_000)] | None = None
    heldout: Annotated[float, msgspec.Meta(ge=0, le=0.5)] | None = None
    checkins: Annotated[int, msgspec.Meta(ge=1, le=1_000_000)] | None = None
    evaluators: CheckinShare | None = None
    counters: CheckinShare | None = None

    def terms(self, mechanism: str, n_classes: int) -> CollectionTerms:
        options = MECHANISMS[mechanism].options
        evaluators, counters = self.evaluators, self.counters
        if evaluators is None:
            evaluators = min(EVALUATORS, LARGEST_SHARE - (counters or 0.0))
        if counters is None:
            counters = min(COUNTERS, LARGEST_SHARE - evaluators) if n_classes else 0.0
        return CollectionTerms(
            batch=self.batch,
            buffer=self.buffer or min(10 * self.batch, 1_000_000),
            heldout=self.heldout or 0.0,
            checkins=(self.checkins or 1) if "collection.checkins" in options else None,
            evaluators=evaluators if "collection.evaluators" in options else 0.0,
            counters=counters if "collection.counters" in options else 0.0,
        )


class OptimizerSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Hold [optimizer]: the update rule of the server; devices never see it.

    By default the rate is planned: constant, from what is known before the task starts.
    """

    kind: OptimizerName = "sgd"
    rate: RateName | None = None
    c: Positive | None = None
    averaging: Annotated[float, msgspec.Meta(ge=0, le=1000)] | None = None
    reach: Positive | None = None

    @property
    def schedule(self) -> str:
        """Return the rate's name: a c given by hand belongs to the paper's rate, c/√t."""
        return self.rate or ("planned" if self.c is None else "sqrt")

    @property
    def planned(self) -> bool:
        return self.schedule == "planned" and OPTIMIZERS[self.kind].has_rate

    def with_plan(
        self,
        updates: float,
        known: Mechanism | StandIn,
        reach: float,
        start: ReachFromStart | None = None,
    ) -> "OptimizerSpec":
        """Return the optimizer with a planned c and its averaging written out, for T updates.

        `reach` is D from zero, where none is given and the crowd is not lost in its noise. From a
        `start` that knows its own doubt, D follows from the start.
        """
        if not self.planned:
            return self
        ratio = signal_ratio(updates, known.length, known.noise_energy)
        # Where the noise exceeds the signal of all gradients, w should go less far, and the average
        # should give the last steps more weight, which alone contain the signal of all gradients.
        signal_share = min(1.0, ratio)
        reach = reach * math.sqrt(signal_share) if start is None else start.reach_for(ratio)
        return msgspec.structs.replace(
            self,
            rate="planned",
            c=planned_rate(self.reach or reach, updates, known.length, known.noise_energy),
            averaging=AVERAGING / signal_share if self.averaging is None else self.averaging,
        )

    def make(self, radius: float) -> Optimizer:
        return make_optimizer(self.kind, self.schedule, self.c or 1.0, radius, self.averaging)


class Stop(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Hold [stop]: after T_max updates, or when the error is surely at most ρ.

    The estimate comes from noisy counts, so "surely" means: over the last `window` check-ins that
    evaluate, or over 4 or 16 times as many, with at least `samples` samples from at least `devices`
    devices, the upper end of a one-sided interval is at most `error`. The interval is wide enough
    for all looks until T_max together to be right with this `confidence`. Some devices may lie:
    each device has the same weight, and one in twenty is assumed to have reported no errors.
    """

    updates: Annotated[int, msgspec.Meta(ge=1, le=10**12)] | None = None
    error: Annotated[float, msgspec.Meta(gt=0, lt=1)] | None = None
    window: Annotated[int, msgspec.Meta(ge=10, le=100_000)] = 200
    samples: Annotated[int, msgspec.Meta(ge=1)] | None = None
    confidence: Annotated[float, msgspec.Meta(gt=0.5, lt=1)] = 0.999
    devices: Annotated[int, msgspec.Meta(ge=1, le=100_000)] = 20


class Enrolment(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Hold [enrolment]: who may join, how often a device may check in, how late it may be."""

    mode: Literal["open", "invite"] = "open"
    checkins_per_minute: Annotated[float, msgspec.Meta(gt=0, le=1e12)] | None = None
    max_staleness: Annotated[int, msgspec.Meta(ge=0)] | None = None


class TaskFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Hold what a person writes, in the order of docs/tasks.md."""

    name: TaskName
    title: LineText
    objective: Text
    owner: Annotated[LineText, msgspec.Meta(examples=["Jane Doe, Example University"])]
    contact: Annotated[LineText, msgspec.Meta(examples=["study@example.org"])]
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


def with_derived(document: dict[str, Any]) -> dict[str, Any]:
    """Add the fields of a task file that follow from others, where the file leaves them out.

    `features.count` is the number of names; `model.intercept` is true where columns have a center,
    because a model that sees differences from the center needs a constant.
    """
    features, model = document.get("features"), document.get("model")
    if isinstance(features, dict):
        if features.get("names") and isinstance(features["names"], list):
            document = document | {"features": {"count": len(features["names"])} | features}
        if isinstance(model, dict) and features.get("center"):
            document = document | {"model": {"intercept": True} | model}
    return document

"""The terms: everything that decides what leaves a device, as one text with one hash.

The text itself is what is agreed to. A device hashes the bytes that it was shown, parses the
same bytes, and acts on nothing else, so no rule for canonical JSON is needed in any language.
"""

import hashlib
from typing import Annotated, Literal, TypeAlias

import msgspec

from crowdml.errors import InvalidTask
from crowdml.models import Hinge, Huber, Model, Ridge, Softmax
from crowdml.privacy import CheckinRelease, Epsilon, Sanitizer
from crowdml.protocol.sensor import Sensor

__all__ = [
    "CollectionTerms",
    "Features",
    "ModelTerms",
    "PrivacyTerms",
    "Target",
    "Terms",
    "make_model",
    "terms_hash",
]

LARGEST_MODEL = 1_000_000
LARGEST_EPSILON = 1e6

Level: TypeAlias = Annotated[float, msgspec.Meta(ge=0, le=LARGEST_EPSILON)] | Literal["inf"]
"""An ε; JSON has no infinity, so no noise is written "inf" (float() reads both)."""

ModelKind: TypeAlias = Literal["softmax", "hinge", "ridge", "huber"]
Positive: TypeAlias = Annotated[float, msgspec.Meta(ge=1e-9, le=1e9)]
Text: TypeAlias = Annotated[str, msgspec.Meta(max_length=2000)]


class Features(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """x: how many numbers, in plain words what they are, and if devices make them, how."""

    count: Annotated[int, msgspec.Meta(ge=1, le=100_000)]
    description: Text = ""
    sensor: Sensor | None = None

    def __post_init__(self) -> None:
        if self.sensor is not None:
            self.sensor.check(self.count)


class Target(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """y: the names of the classes 0, 1, …, or none for a real number."""

    labels: Annotated[
        tuple[Annotated[str, msgspec.Meta(min_length=1, max_length=80)], ...],
        msgspec.Meta(max_length=1000),
    ] = ()
    description: Text = ""

    def __post_init__(self) -> None:
        if len(self.labels) == 1:
            raise ValueError("labels must be none (a real target) or at least two, found one")
        if len(set(self.labels)) < len(self.labels):
            raise ValueError("labels must differ from each other")


class ModelTerms(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """h, l, λ, S and the domain of w.

    `delta` belongs to huber, `tolerance` to ridge and huber (what counts as an error).
    """

    kind: ModelKind
    clip: Positive
    regularization: Annotated[float, msgspec.Meta(ge=0, le=1e6)] = 0.0
    radius: Positive = 1000.0
    intercept: bool = False
    delta: Positive = 1.0
    tolerance: Positive = 1.0


class PrivacyTerms(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """ε of each thing sent, and what a check-in costs each of its samples."""

    epsilon: Level
    epsilon_g: Level
    epsilon_e: Level
    epsilon_y: Level


class CollectionTerms(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """b, B and the share of samples set aside for counting errors."""

    batch: Annotated[int, msgspec.Meta(ge=1, le=100_000)]
    buffer: Annotated[int, msgspec.Meta(ge=1, le=1_000_000)]
    heldout: Annotated[float, msgspec.Meta(ge=0, le=0.5)] = 0.0

    def __post_init__(self) -> None:
        if self.buffer < self.batch:
            raise ValueError(
                f"buffer must hold a whole batch of {self.batch} samples, found {self.buffer}"
            )

    def n_heldout(self, n_samples: int) -> int:
        """How many of n_s samples are set aside: ⌊heldout·n_s⌋."""
        return int(self.heldout * n_samples)


class Terms(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a participant agrees to."""

    task: str
    sensors: Text
    features: Features
    target: Target
    model: ModelTerms
    privacy: PrivacyTerms
    collection: CollectionTerms

    @classmethod
    def parse(cls, text: str) -> "Terms":
        """The terms in a text from a server, which is not trusted to be well-formed."""
        try:
            terms = msgspec.json.decode(text.encode(), type=cls)
            terms.check_cost()
        except (msgspec.DecodeError, ValueError) as error:
            raise InvalidTask(f"the server's terms make no sense: {error}.") from error
        return terms

    @property
    def text(self) -> str:
        return msgspec.json.format(msgspec.json.encode(self), indent=2).decode()

    @property
    def n_classes(self) -> int:
        return len(self.target.labels)

    @property
    def private(self) -> bool:
        return self.epsilon_per_sample != float("inf")

    @property
    def epsilon_per_sample(self) -> float:
        """What one check-in costs each of its samples, computed and not merely claimed."""
        return self.event(self.collection.batch).per_sample

    def event(self, n_samples: int) -> CheckinRelease:
        """What a check-in of so many samples tells: known before anything is told."""
        n_heldout = self.collection.n_heldout(n_samples)
        return self.sanitizer().event(n_samples - n_heldout, n_heldout)

    def check_cost(self) -> None:
        """Raise `InvalidTask` if the parts of ε cost more than is said of the whole."""
        claimed, cost = float(self.privacy.epsilon), self.epsilon_per_sample
        if cost > claimed * (1 + 1e-9):
            raise InvalidTask(
                f"privacy.epsilon must be at least what a check-in costs a sample, {cost:g}, "
                f"found {claimed:g}"
            )

    def make_model(self) -> Model:
        return make_model(self.model, self.features.count, self.n_classes)

    def sanitizer(self) -> Sanitizer:
        levels, model = self.privacy, self.make_model()
        labels = float(levels.epsilon_y)
        if (labels > 0) != (self.n_classes > 0):
            raise InvalidTask(
                "epsilon_y must be positive with labels and 0 without, "
                f"found {levels.epsilon_y} with {self.n_classes} labels."
            )
        return Sanitizer(
            epsilon=Epsilon(float(levels.epsilon_g), float(levels.epsilon_e), labels),
            clip=min(self.model.clip, model.l1_bound),
            size=model.size,
            regularization=self.model.regularization,
            radius=self.model.radius,
        )


def make_model(spec: ModelTerms, n_features: int, n_classes: int) -> Model:
    classifier = spec.kind in ("softmax", "hinge")
    if classifier and not n_classes:
        raise InvalidTask(f"model.kind {spec.kind} needs target.labels, found none. List them.")
    if not classifier and n_classes:
        raise InvalidTask(
            f"model.kind {spec.kind} predicts a number and takes no target.labels, found "
            f"{n_classes}. Remove them, or use softmax or hinge."
        )
    size = (n_features + spec.intercept) * max(n_classes, 1)
    if size > LARGEST_MODEL:
        raise InvalidTask(
            f"a model may have at most {LARGEST_MODEL:,} parameters, found {size:,}. "
            "Use fewer features or labels."
        )
    match spec.kind:
        case "softmax":
            return Softmax(n_features, n_classes, spec.intercept)
        case "hinge":
            return Hinge(n_features, n_classes, spec.intercept)
        case "ridge":
            return Ridge(n_features, 0, spec.intercept, spec.tolerance)
        case "huber":
            return Huber(n_features, 0, spec.intercept, spec.tolerance, spec.delta)


def terms_hash(text: str) -> str:
    """SHA-256 of the UTF-8 bytes of the text, in hexadecimal.

    >>> terms_hash("{}")[:16]
    '44136fa355b3678a'
    """
    return hashlib.sha256(text.encode()).hexdigest()

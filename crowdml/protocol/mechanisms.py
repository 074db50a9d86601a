"""The mechanisms that a task can name, each with its terms: one list of them."""

import math
from typing import Annotated, ClassVar, Literal, NamedTuple, TypeAlias

import msgspec

from crowdml.models import Model
from crowdml.privacy import (
    ALL_TRAIN,
    GAUSSIAN,
    LAPLACE,
    DirectionMechanism,
    Law,
    Levels,
    Mechanism,
    NoiseMechanism,
    Roles,
    best_closest,
    rho_of,
)

__all__ = [
    "LARGEST_EPSILON",
    "MECHANISMS",
    "SMALLEST_EPSILON",
    "Conditions",
    "DirectionTerms",
    "GaussianTerms",
    "LaplaceTerms",
    "MechanismKind",
    "PrivacyTerms",
    "Wanted",
    "levels_of",
    "smallest_part",
]

SMALLEST_EPSILON, LARGEST_EPSILON = 1e-6, 1e6
SMALLEST_LEVEL = 1e-9
"""Beyond these, noise would not fit the wire's integers, or would be no noise at all."""

DIRECTIONS = 1024
DELTA = 1e-6
SHARE = 0.05
"""The share for each count, where a task does not say: they are for monitoring only."""

Epsilon: TypeAlias = Annotated[float, msgspec.Meta(ge=SMALLEST_EPSILON, le=LARGEST_EPSILON)]
Level: TypeAlias = (
    Annotated[float, msgspec.Meta(ge=SMALLEST_LEVEL, le=LARGEST_EPSILON)] | Literal["inf"]
)
"""An ε or a ρ; JSON has no infinity, so no noise is written "inf" (float() reads both)."""

LabelLevel: TypeAlias = Annotated[float, msgspec.Meta(ge=0, le=LARGEST_EPSILON)] | Literal["inf"]
"""That of the label counts; 0 where there are no labels to count."""


class Wanted(NamedTuple):
    """What a task file says of its privacy, and what follows for it from the other tables.

    Args:
        epsilon: ε in all.
        errors: ε for the error count, if said.
        labels: ε for the label counts, if said.
        delta: δ, if said.
        directions: k, if said.
        counted: Whether there are labels to count.
        heldout: Whether samples are set aside for counting errors.
        checkins: K.
        alone: Whether the gradient is all that is sent, as in a simulation.
    """

    epsilon: float
    errors: float | None = None
    labels: float | None = None
    delta: float | None = None
    directions: int | None = None
    counted: bool = True
    heldout: bool = False
    checkins: int = 1
    alone: bool = False


class Conditions(NamedTuple):
    """What else a mechanism must know of a task.

    Args:
        model: What is learnt.
        clip: S for a sample's gradient; None for the model's own bound.
        regularization: λ.
        radius: R.
        batch: b.
        buffer: B.
        heldout: The share of a check-in's samples that is set aside.
        checkins: K.
        roles: The shares of check-ins that evaluate and that count.
        scale: The typical size of a real target.
    """

    model: Model
    clip: float | None = None
    regularization: float = 0.0
    radius: float = 1000.0
    batch: int = 1
    buffer: int = 1_000_000
    heldout: float = 0.0
    checkins: int = 1
    roles: Roles = ALL_TRAIN
    scale: float = 1.0


def levels_of(wanted: Wanted) -> Levels:
    """How ε is split: on held-out samples errors cost the gradient nothing."""
    total = wanted.epsilon
    if wanted.alone:
        return Levels(total, math.inf, math.inf if wanted.counted else 0.0)
    if math.isinf(total):
        return Levels(total, total, total if wanted.counted else 0.0)
    labels = (wanted.labels or SHARE * total) if wanted.counted else 0.0
    rest = total - labels
    errors = wanted.errors or (rest if wanted.heldout else SHARE * total)
    return Levels(rest if wanted.heldout else rest - errors, errors, labels)


def smallest_part(mechanism: str, wanted: Wanted) -> float:
    """The least part of ε that something sent may have.

    Gaussian noise has its parts in ρ, which is far less than ε where both are small.
    """
    if mechanism != "gaussian" or math.isinf(wanted.epsilon):
        return SMALLEST_EPSILON
    rho = rho_of(wanted.epsilon, wanted.delta or DELTA)
    return max(SMALLEST_EPSILON, SMALLEST_LEVEL * wanted.epsilon / rho)


class LaplaceTerms(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="mechanism", tag="laplace"
):
    """ε of each thing sent, and what a check-in costs each of its samples."""

    norm: ClassVar[int] = LAPLACE.norm

    epsilon: Epsilon | Literal["inf"]
    epsilon_g: Level
    epsilon_e: Level
    epsilon_y: LabelLevel

    @classmethod
    def of(cls, wanted: Wanted) -> "LaplaceTerms":
        g, e, y = levels_of(wanted)
        return cls(_written(wanted.epsilon), _written(g), _written(e), _written(y))

    @property
    def levels(self) -> Levels:
        return Levels(float(self.epsilon_g), float(self.epsilon_e), float(self.epsilon_y))

    def make(self, conditions: Conditions) -> Mechanism:
        return _noise(conditions, LAPLACE, self.levels)


class GaussianTerms(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="mechanism", tag="gaussian"
):
    """ρ of each thing sent, and the (ε, δ) that a check-in costs each of its samples."""

    norm: ClassVar[int] = GAUSSIAN.norm

    epsilon: Epsilon | Literal["inf"]
    delta: Annotated[float, msgspec.Meta(ge=1e-15, le=0.01)]
    rho_g: Level
    rho_e: Level
    rho_y: LabelLevel

    @classmethod
    def of(cls, wanted: Wanted) -> "GaussianTerms":
        """Parts of ρ in the proportions of the parts of ε."""
        delta = wanted.delta or DELTA
        rho = math.inf if math.isinf(wanted.epsilon) else rho_of(wanted.epsilon, delta)
        share = 1.0 if math.isinf(rho) else rho / wanted.epsilon
        g, e, y = (level * share for level in levels_of(wanted))
        return cls(_written(wanted.epsilon), delta, _written(g), _written(e), _written(y))

    @property
    def levels(self) -> Levels:
        return Levels(float(self.rho_g), float(self.rho_e), float(self.rho_y))

    def make(self, conditions: Conditions) -> Mechanism:
        return _noise(conditions, GAUSSIAN, self.levels, self.delta)


class DirectionTerms(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="mechanism", tag="direction"
):
    """What a person loses in all, over all check-ins, and how many directions there are."""

    norm: ClassVar[int] = DirectionMechanism.norm

    epsilon: Epsilon
    directions: Annotated[int, msgspec.Meta(ge=2, le=4096)]
    closest: Annotated[int, msgspec.Meta(ge=1, le=4095)]

    @classmethod
    def of(cls, wanted: Wanted) -> "DirectionTerms":
        k = wanted.directions or DIRECTIONS
        return cls(wanted.epsilon, k, best_closest(k, wanted.epsilon / wanted.checkins))

    def make(self, conditions: Conditions) -> Mechanism:
        return DirectionMechanism(
            epsilon=self.epsilon / conditions.checkins,
            directions=self.directions,
            closest=self.closest,
            size=conditions.model.size,
            n_classes=conditions.model.n_classes,
            batch=conditions.batch,
            checkins=conditions.checkins,
            roles=conditions.roles,
            scale=conditions.scale,
            regularization=conditions.regularization,
        )


PrivacyTerms: TypeAlias = DirectionTerms | GaussianTerms | LaplaceTerms


class MechanismKind(NamedTuple):
    """A kind of mechanism.

    Args:
        terms: Its privacy terms.
        words: Whom it protects and how, for people who choose one.
        options: The fields of a task file that some mechanisms have, this one among them.
        clip: S for a sample's gradient where a task gives none, in units of the target's scale.
        reach: D of the planned rate, for classifiers and for numbers, in the same units.
    """

    terms: type[DirectionTerms] | type[GaussianTerms] | type[LaplaceTerms]
    words: str
    options: frozenset[str]
    clip: float = math.inf
    reach: tuple[float, float] = (40.0, 5.0)

    def reach_of(self, n_classes: int, scale: float) -> float:
        """D, where nothing is said."""
        labels, numbers = self.reach
        return labels if n_classes else numbers * scale


NOISE = frozenset({"privacy.epsilon_e", "privacy.epsilon_y", "collection.heldout", "model.clip"})

MECHANISMS = {
    "direction": MechanismKind(
        DirectionTerms,
        "protects the whole person: a check-in is one small number, mixed with chance",
        frozenset(
            {
                "privacy.directions",
                "collection.checkins",
                "collection.evaluators",
                "collection.counters",
            }
        ),
    ),
    "gaussian": MechanismKind(
        GaussianTerms,
        "protects each sample: Gaussian noise on averages of many samples",
        NOISE | {"privacy.delta"},
        clip=0.1,
        reach=(60.0, 5.0),
    ),
    "laplace": MechanismKind(
        LaplaceTerms,
        "protects each sample: Laplace noise on averages of many samples, as in the paper",
        NOISE,
        clip=0.2,
        # Rows of length 1 in L1 are several times shorter in L2, so that w has to go further.
        reach=(400.0, 20.0),
    ),
}


def _noise(conditions: Conditions, law: Law, levels: Levels, delta: float = 0.0) -> NoiseMechanism:
    model = conditions.model
    return NoiseMechanism(
        law=law,
        levels=levels,
        clip=min(conditions.clip or math.inf, model.bound(law.norm)),
        size=model.size,
        n_classes=model.n_classes,
        batch=conditions.batch,
        buffer=conditions.buffer,
        heldout=conditions.heldout,
        regularization=conditions.regularization,
        radius=conditions.radius,
        delta=delta,
    )


def _written(value: float) -> float | Literal["inf"]:
    return "inf" if math.isinf(value) else value

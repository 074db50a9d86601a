"""Split ε in the terms of `laplace` and `gaussian`, and make the mechanism."""

import math
from typing import Annotated, ClassVar, Literal, TypeAlias

import msgspec

from crowdml.phrase import Phrase
from crowdml.privacy import GAUSSIAN, LAPLACE, Law, Mechanism, NoiseLevels, NoiseMechanism, rho_of
from crowdml.protocol.mechanisms.kind import (
    LARGEST_EPSILON,
    SMALLEST_EPSILON,
    Conditions,
    Epsilon,
    WantedPrivacy,
    WrittenTerms,
)
from crowdml.protocol.numbers_in_words import four_digits_up

SMALLEST_LEVEL = 1e-9
DELTA = 1e-6
COUNT_SHARE = 0.05
"""The share of ε for each count, where a task does not say: counts are for monitoring only."""

NoiseLevel: TypeAlias = (
    Annotated[float, msgspec.Meta(ge=SMALLEST_LEVEL, le=LARGEST_EPSILON)] | Literal["inf"]
)
"""An ε or a ρ; JSON has no infinity, so no noise is written "inf" (float() reads both)."""

LabelLevel: TypeAlias = Annotated[float, msgspec.Meta(ge=0, le=LARGEST_EPSILON)] | Literal["inf"]
"""The ε of the label counts; 0 where there are no labels to count."""


def levels_of(wanted: WantedPrivacy) -> NoiseLevels:
    """Split ε; errors counted on held-out samples cost the gradient nothing."""
    total = wanted.epsilon
    if wanted.gradient_only:
        return NoiseLevels(total, math.inf, math.inf if wanted.has_labels else 0.0)
    if math.isinf(total):
        return NoiseLevels(total, total, total if wanted.has_labels else 0.0)
    labels = (wanted.labels or COUNT_SHARE * total) if wanted.has_labels else 0.0
    rest = total - labels
    errors = wanted.errors or (rest if wanted.heldout else COUNT_SHARE * total)
    return NoiseLevels(rest if wanted.heldout else rest - errors, errors, labels)


class NoiseTerms(WrittenTerms, frozen=True):
    """Hold the fields that the terms of both laws have in common."""

    letter: ClassVar[str]
    """The letter of the levels: ε or ρ."""

    @property
    def levels(self) -> NoiseLevels:
        """Return ε or ρ of each thing sent."""
        raise NotImplementedError

    @property
    def parts(self) -> Phrase:
        gradient, errors, labels = map(four_digits_up, self.levels)
        if not self.levels.labels:
            return Phrase(
                "Of {letter}, the gradient takes {gradient}, the count of errors {errors}.",
                letter=self.letter,
                gradient=gradient,
                errors=errors,
            )
        return Phrase(
            "Of {letter}, the gradient takes {gradient}, the count of errors {errors}, the counts "
            "of labels {labels}.",
            letter=self.letter,
            gradient=gradient,
            errors=errors,
            labels=labels,
        )

    @classmethod
    def smallest_part(cls, wanted: WantedPrivacy) -> float:
        """Return the smallest part of ε that anything sent may have."""
        return SMALLEST_EPSILON


class LaplaceTerms(NoiseTerms, frozen=True, tag="laplace"):
    """Hold ε of each thing that is sent, and the cost of a check-in for each of its samples."""

    norm: ClassVar[int] = LAPLACE.norm
    letter: ClassVar[str] = "ε"

    epsilon: Epsilon | Literal["inf"]
    epsilon_g: NoiseLevel
    epsilon_e: NoiseLevel
    epsilon_y: LabelLevel

    @classmethod
    def of(cls, wanted: WantedPrivacy) -> "LaplaceTerms":
        g, e, y = levels_of(wanted)
        return cls(_written(wanted.epsilon), _written(g), _written(e), _written(y))

    @property
    def levels(self) -> NoiseLevels:
        return NoiseLevels(float(self.epsilon_g), float(self.epsilon_e), float(self.epsilon_y))

    def make(self, conditions: Conditions) -> Mechanism:
        return _noise(conditions, LAPLACE, self.levels)

    @property
    def wanted(self) -> WantedPrivacy:
        return _wanted(float(self.epsilon), self.levels)


class GaussianTerms(NoiseTerms, frozen=True, tag="gaussian"):
    """Hold ρ of each thing that is sent, and the (ε, δ) of a check-in for each of its samples."""

    norm: ClassVar[int] = GAUSSIAN.norm
    letter: ClassVar[str] = "ρ"

    epsilon: Epsilon | Literal["inf"]
    delta: Annotated[float, msgspec.Meta(ge=1e-15, le=0.01)]
    rho_g: NoiseLevel
    rho_e: NoiseLevel
    rho_y: LabelLevel

    @classmethod
    def of(cls, wanted: WantedPrivacy) -> "GaussianTerms":
        """Split ρ in the proportions of the parts of ε."""
        delta = wanted.delta or DELTA
        rho = math.inf if math.isinf(wanted.epsilon) else rho_of(wanted.epsilon, delta)
        share = 1.0 if math.isinf(rho) else rho / wanted.epsilon
        g, e, y = (level * share for level in levels_of(wanted))
        return cls(_written(wanted.epsilon), delta, _written(g), _written(e), _written(y))

    @property
    def levels(self) -> NoiseLevels:
        return NoiseLevels(float(self.rho_g), float(self.rho_e), float(self.rho_y))

    def make(self, conditions: Conditions) -> Mechanism:
        return _noise(conditions, GAUSSIAN, self.levels, self.delta)

    @property
    def wanted(self) -> WantedPrivacy:
        epsilon = float(self.epsilon)
        share = 1.0 if math.isinf(epsilon) else epsilon / rho_of(epsilon, self.delta)
        parts = NoiseLevels(*(share * level for level in self.levels))
        return _wanted(epsilon, parts)._replace(delta=self.delta)

    @classmethod
    def smallest_part(cls, wanted: WantedPrivacy) -> float:
        """Return the smallest part of ρ, which is far smaller than ε where both are small."""
        if math.isinf(wanted.epsilon):
            return SMALLEST_EPSILON
        rho = rho_of(wanted.epsilon, wanted.delta or DELTA)
        return max(SMALLEST_EPSILON, SMALLEST_LEVEL * wanted.epsilon / rho)


def _noise(
    conditions: Conditions, law: Law, levels: NoiseLevels, delta: float = 0.0
) -> NoiseMechanism:
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


def _wanted(epsilon: float, parts: NoiseLevels) -> WantedPrivacy:
    if math.isinf(epsilon):
        return WantedPrivacy(epsilon)
    return WantedPrivacy(epsilon, errors=parts.errors, labels=parts.labels or None)


def _written(value: float) -> float | Literal["inf"]:
    return "inf" if math.isinf(value) else value

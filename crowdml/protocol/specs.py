"""[model] and [privacy] of a task file: what becomes of them in the terms, and when nothing can."""

import math
from collections.abc import Iterator
from typing import Annotated, TypeAlias

import msgspec

from crowdml.errors import Mistake
from crowdml.privacy import LARGEST_EPSILON, SMALLEST_EPSILON
from crowdml.protocol.review import rule
from crowdml.protocol.rules import model_mistakes
from crowdml.protocol.terms import (
    CollectionTerms,
    ModelKind,
    ModelTerms,
    Positive,
    PrivacyTerms,
    make_model,
)

__all__ = ["SPEC_RULES", "ModelSpec", "PrivacySpec"]

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


SPEC_RULES = (
    _gradients_are_bounded,
    _finite_epsilon_is_some_noise,
    _parts_have_a_use,
    _epsilon_is_enough_for_all,
)

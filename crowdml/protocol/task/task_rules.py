"""Check rules about several fields of a task file, for values that are valid by themselves."""

import math
from collections.abc import Iterator
from typing import Any

from crowdml.errors import Mistake
from crowdml.phrase import Phrase
from crowdml.protocol.mechanisms import LARGEST_EPSILON, MECHANISMS, SMALLEST_EPSILON
from crowdml.protocol.review import field_rule
from crowdml.protocol.rules import model_mistakes
from crowdml.protocol.task.task_file import EPSILON, OptimizerSpec
from crowdml.protocol.task.text_rules import TEXT_RULES
from crowdml.protocol.terms import ModelName, ModelTerms, make_model
from crowdml.protocol.wording import listed, shown

REMOVE = Phrase("Remove it.")


@field_rule("privacy.mechanism", "model.kind", "model.clip", "model.intercept", "features.count",
            "target.labels", "target.scale", "optimizer.kind", "optimizer.rate",
            "optimizer.c")  # fmt: skip
def _gradients_are_bounded(
    mechanism: str,
    kind: ModelName,
    clip: float | None,
    intercept: bool,
    count: int,
    labels: tuple[str, ...],
    scale: float,
    *optimizer: Any,
) -> Iterator[Mistake]:
    if list(model_mistakes(kind, intercept, count, len(labels))):
        return
    model = make_model(ModelTerms(kind), count, len(labels))
    planned = OptimizerSpec(*optimizer).planned
    if MECHANISMS[mechanism].clip_or_default(clip, model, scale, planned) == math.inf:
        must = Phrase(
            "must be given for {kind}, whose gradients have no bound of their own", kind=kind
        )
        yield Mistake("model.clip", must, remedy=Phrase("Set it, say clip = 1.0."))


OPTIONS = sorted(frozenset.union(*(kind.options for kind in MECHANISMS.values())))


@field_rule("privacy.mechanism", *OPTIONS)
def _options_have_a_use(mechanism: str, *given: float | None) -> Iterator[Mistake]:
    for field, value in zip(OPTIONS, given, strict=True):
        others = [name for name, kind in MECHANISMS.items() if field in kind.options]
        if value is not None and mechanism not in others:
            must = Phrase(
                "is for the mechanism {some}, not for {mechanism}",
                some=listed(others),
                mechanism=mechanism,
            )
            yield Mistake(field, must, value, REMOVE)


@field_rule("target.labels", "target.scale", "target.unit")
def _only_numbers_have_a_size(
    labels: tuple[str, ...], scale: float, unit: str
) -> Iterator[Mistake]:
    """Reject a size for labels: it would multiply the default clip, and with it the noise."""
    must = Phrase("is for a number to predict, and target.labels has labels")
    if labels and scale != 1:
        yield Mistake("target.scale", must, scale, REMOVE)
    if labels and unit:
        yield Mistake("target.unit", must, shown(unit), REMOVE)


@field_rule("optimizer.kind", "optimizer.rate", "optimizer.c", "optimizer.averaging",
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


@field_rule("privacy.epsilon")
def _finite_epsilon_is_some_noise(epsilon: float) -> Iterator[Mistake]:
    if not (SMALLEST_EPSILON <= epsilon <= LARGEST_EPSILON or epsilon == math.inf):
        yield Mistake("privacy.epsilon", Phrase("must be {what}", what=EPSILON), epsilon)


TASK_RULES = (
    _gradients_are_bounded,
    _options_have_a_use,
    _only_numbers_have_a_size,
    _a_plan_needs_an_end,
    _finite_epsilon_is_some_noise,
    *TEXT_RULES,
)

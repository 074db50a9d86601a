"""Rules about several fields of a task, for values that are valid by themselves."""

from collections import Counter
from collections.abc import Iterator

from crowdml.errors import Mistake
from crowdml.models import MODELS
from crowdml.privacy import LARGEST_CHOICE, LARGEST_SHARE
from crowdml.protocol.review import Rule, rule
from crowdml.protocol.wording import listed, shown

__all__ = ["RULES", "TERMS_RULES", "model_mistakes", "name_is_taken"]

LARGEST_MODEL = 1_000_000
CLASSIFIERS = [name for name, kind in MODELS.items() if kind.classifier]
SUMMARY = ("mean", "standard deviation", "smallest", "largest")


@rule("features.sensor.kind", "features.sensor.transform")
def _values_are_typed_in(kind: str, transform: str) -> Iterator[Mistake]:
    if (kind == "manual") != (transform == "values"):
        yield Mistake(
            "features.sensor.transform",
            "must be values for manual and only for it",
            f'"{transform}" for {kind}',
        )


@rule("features.sensor.kind", "features.sensor.fields")
def _fields_are_typed_in(kind: str, fields: tuple[str, ...]) -> Iterator[Mistake]:
    if (kind == "manual") != bool(fields):
        yield Mistake(
            "features.sensor.fields",
            "must name the numbers to enter for manual and only for it",
            f"{len(fields)} for {kind}",
        )


@rule("features.count", "features.sensor.transform", "features.sensor.window",
      "features.sensor.fields")  # fmt: skip
def _count_is_what_is_made(
    count: int, transform: str, window: int, fields: tuple[str, ...]
) -> Iterator[Mistake]:
    made = {"summary": len(SUMMARY), "values": len(fields)}.get(transform)
    if made is None and count > window:
        what = "the readings in the sensor's window"
        yield Mistake("features.count", f"must be at most {window}, {what}", str(count))
    elif made and count != made:
        what = f"the numbers that the sensor's transform {transform} makes"
        yield Mistake("features.count", f"must be {made}, {what}", str(count))


@rule("target.labels")
def _labels_differ(labels: tuple[str, ...]) -> Iterator[Mistake]:
    if len(labels) == 1:
        yield Mistake("target.labels", "must be two or more, or none for a number", "one")
    for label, times in Counter(labels).most_common(1):
        if times > 1:
            yield Mistake("target.labels", "must differ from each other", f"{shown(label)} twice")


@rule("collection.batch", "collection.buffer")
def _buffer_holds_a_batch(batch: int, buffer: int | None) -> Iterator[Mistake]:
    if buffer is not None and buffer < batch:
        must = f"must hold a whole batch of {batch} samples"
        yield Mistake("collection.buffer", must, str(buffer), "Raise it, or lower the batch.")


@rule("model.kind", "model.intercept", "features.count", "target.labels")
def _model_suits(
    kind: str, intercept: bool, count: int, labels: tuple[str, ...]
) -> Iterator[Mistake]:
    return model_mistakes(kind, intercept, count, len(labels))


def model_mistakes(
    kind: str, intercept: bool, n_features: int, n_classes: int
) -> Iterator[Mistake]:
    classifier, size = kind in CLASSIFIERS, (n_features + intercept) * max(n_classes, 1)
    if classifier and n_classes < 2:
        must = f"must name two or more labels for {kind}, which tells them apart"
        yield Mistake("target.labels", must, str(n_classes), "List them, or use another model.")
    if not classifier and n_classes:
        must = f"must suit target.labels, but {kind} predicts a number and takes no labels"
        remedy = f"Remove them, or use {listed(CLASSIFIERS)}."
        yield Mistake("model.kind", must, f"{n_classes} labels", remedy)
    if size > LARGEST_MODEL:
        must = f"must make a model of at most {LARGEST_MODEL:,} parameters"
        yield Mistake("features.count", must, f"{size:,}", "Use fewer features or labels.")


def _label_counts_have_their_level(field: str) -> Rule:
    @rule(field, "target.labels")
    def check(level: float | str, labels: tuple[str, ...]) -> Iterator[Mistake]:
        if labels and not float(level) > 0:
            yield Mistake(field, "must be above 0 where there are labels", f"{level}")
        if not labels and level != 0:
            yield Mistake(field, "must be 0 where there are no labels", f"{level}")

    return check


def _clip_is_for_noise(field: str, needed: bool) -> Rule:
    @rule(field, "model.clip")
    def check(level: float | str, clip: float | None) -> Iterator[Mistake]:
        if needed and clip is None:
            yield Mistake("model.clip", "must be a number where there is noise", "null")
        if not needed and clip is not None:
            must = "must be null for the mechanism direction, which needs none"
            yield Mistake("model.clip", must, f"{clip:g}")

    return check


@rule("privacy.directions", "privacy.closest")
def _some_are_not_the_closest(directions: int, closest: int) -> Iterator[Mistake]:
    if closest >= directions:
        must = f"must be less than privacy.directions, {directions}"
        yield Mistake("privacy.closest", must, str(closest))


@rule("privacy.epsilon", "privacy.closest", "collection.checkins")
def _a_direction_is_sent_so_often(
    epsilon: float, closest: int, checkins: int | None
) -> Iterator[Mistake]:
    if checkins is None:
        must = "must be there for the mechanism direction"
        yield Mistake("collection.checkins", must, "null")
    elif epsilon / checkins > LARGEST_CHOICE:
        must = f"must be at most {LARGEST_CHOICE:g} for each check-in"
        yield Mistake("privacy.epsilon", must, f"{epsilon / checkins:g}")


@rule("collection.evaluators", "collection.counters")
def _some_checkins_train(evaluators: float | None, counters: float | None) -> Iterator[Mistake]:
    share = (evaluators or 0.0) + (counters or 0.0)
    if share > LARGEST_SHARE * (1 + 1e-9):
        must = (
            f"must leave one check-in in ten for training: at most {LARGEST_SHARE:g} with counters"
        )
        yield Mistake("collection.evaluators", must, f"{share:g}", "Lower one of them.")


@rule("collection.counters", "target.labels")
def _counters_have_answers(counters: float | None, labels: tuple[str, ...]) -> Iterator[Mistake]:
    if counters and not labels:
        must = "must be 0 where a number is predicted, because there are no answers to count"
        yield Mistake("collection.counters", must, f"{counters:g}", "Remove it.")


def _has_no_use(field: str, chosen: str, mechanism: str) -> Rule:
    """Both fields exist in all terms; `chosen` only in those of some mechanisms."""

    @rule(chosen, field)
    def check(_: object, share: float) -> Iterator[Mistake]:
        if share != 0:
            yield Mistake(field, f"must be 0 for the mechanism {mechanism}", f"{share:g}")

    return check


def name_is_taken(name: str) -> Mistake:
    """The mistake of a task whose name another task of the server has."""
    taken = f"is taken: there is a task {name!r} already"
    return Mistake("name", taken, remedy="Choose another name.")


RULES = (
    _values_are_typed_in,
    _fields_are_typed_in,
    _count_is_what_is_made,
    _labels_differ,
    _buffer_holds_a_batch,
    _model_suits,
    _some_checkins_train,
    _counters_have_answers,
)
"""Those that a task file and the terms have in common."""

TERMS_RULES = (
    *RULES,
    _label_counts_have_their_level("privacy.epsilon_y"),
    _label_counts_have_their_level("privacy.rho_y"),
    _clip_is_for_noise("privacy.epsilon_g", needed=True),
    _clip_is_for_noise("privacy.rho_g", needed=True),
    _clip_is_for_noise("privacy.directions", needed=False),
    _has_no_use("collection.heldout", "privacy.directions", "direction"),
    _has_no_use("collection.evaluators", "privacy.epsilon_g", "laplace"),
    _has_no_use("collection.evaluators", "privacy.rho_g", "gaussian"),
    _has_no_use("collection.counters", "privacy.epsilon_g", "laplace"),
    _has_no_use("collection.counters", "privacy.rho_g", "gaussian"),
    _some_are_not_the_closest,
    _a_direction_is_sent_so_often,
)

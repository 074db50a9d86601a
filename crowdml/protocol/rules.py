"""Check rules about several fields of a task, for values that are valid by themselves."""

from collections import Counter
from collections.abc import Iterator

from crowdml.errors import Mistake
from crowdml.models import MODELS
from crowdml.phrase import Phrase
from crowdml.privacy import LARGEST_SHARE
from crowdml.protocol.features import SENSORS, features_made
from crowdml.protocol.mechanisms import MECHANISMS
from crowdml.protocol.review import field_rule
from crowdml.protocol.wording import entries, listed, shown

LARGEST_MODEL = 1_000_000
CLASSIFIERS = [name for name, kind in MODELS.items() if kind.classifier]


@field_rule("features.sensor.kind", "features.sensor.transform")
def _values_are_typed_in(kind: str, transform: str) -> Iterator[Mistake]:
    if SENSORS[kind].typed_in != (transform == "values"):
        yield Mistake(
            "features.sensor.transform",
            Phrase("must be values where numbers are typed in, and only there"),
            Phrase("{value} for {kind}", value=shown(transform), kind=kind),
        )


@field_rule("features.sensor.kind", "features.sensor.fields")
def _fields_are_typed_in(kind: str, fields: tuple[str, ...]) -> Iterator[Mistake]:
    if SENSORS[kind].typed_in != bool(fields):
        yield Mistake(
            "features.sensor.fields",
            Phrase("must name the numbers where they are typed in, and only there"),
            Phrase("{value} for {kind}", value=len(fields), kind=kind),
        )


@field_rule("features.count", "features.sensor.transform", "features.sensor.window",
            "features.sensor.fields")  # fmt: skip
def _count_is_what_is_made(
    count: int, transform: str, window: int, fields: tuple[str, ...]
) -> Iterator[Mistake]:
    made = features_made(transform, len(fields))
    if made is None and count > window:
        must = Phrase("must be at most {n}, the readings in the sensor's window", n=window)
        yield Mistake("features.count", must, count)
    elif made and count != made:
        must = Phrase(
            "must be {n}, the numbers that the sensor's transform {transform} makes",
            n=made,
            transform=transform,
        )
        yield Mistake("features.count", must, count)


@field_rule("features.count", "features.names", "features.center", "features.scale")
def _each_column_has_one(
    count: int, names: tuple[str, ...], center: tuple[float, ...], scale: tuple[float, ...]
) -> Iterator[Mistake]:
    """Require names and constants for all columns or for none."""
    for field, values in (("names", names), ("center", center), ("scale", scale)):
        if values and len(values) != count:
            must = Phrase("must have one entry for each of the {n} features", n=count)
            yield Mistake(f"features.{field}", must, entries(len(values)))


@field_rule("features.names")
def _names_differ(names: tuple[str, ...]) -> Iterator[Mistake]:
    for name in names:
        if name != name.strip():
            must = Phrase("must not begin or end with a space")
            yield Mistake("features.names", must, shown(name))
            return
    for name, times in Counter(names).most_common(1):
        if times > 1:
            found = Phrase("{value} twice", value=shown(name))
            yield Mistake("features.names", Phrase("must differ from each other"), found)


@field_rule("features.names", "features.sensor.kind")
def _sensors_name_their_own(names: tuple[str, ...], kind: str) -> Iterator[Mistake]:
    if names:
        must = Phrase("must be left out where a sensor makes the features")
        yield Mistake("features.names", must, entries(len(names)))


@field_rule("features.missing", "features.center")
def _missing_has_a_center(missing: str, center: tuple[float, ...]) -> Iterator[Mistake]:
    if missing == "center" and not center:
        must = Phrase("must be reject where columns have no center")
        remedy = Phrase("Give features.center, or remove it.")
        yield Mistake("features.missing", must, shown(missing), remedy)


@field_rule("target.labels")
def _labels_differ(labels: tuple[str, ...]) -> Iterator[Mistake]:
    if len(labels) == 1:
        must = Phrase("must have two or more entries, or none to predict a number")
        yield Mistake("target.labels", must, Phrase("one"))
    for label, times in Counter(labels).most_common(1):
        if times > 1:
            found = Phrase("{value} twice", value=shown(label))
            yield Mistake("target.labels", Phrase("must differ from each other"), found)


@field_rule("collection.batch", "collection.buffer")
def _buffer_holds_a_batch(batch: int, buffer: int | None) -> Iterator[Mistake]:
    if buffer is not None and buffer < batch:
        must = Phrase("must hold a whole batch of {n} samples", n=batch)
        remedy = Phrase("Raise it, or lower the batch.")
        yield Mistake("collection.buffer", must, buffer, remedy)


@field_rule("model.kind", "model.intercept", "features.count", "target.labels")
def _model_suits(
    kind: str, intercept: bool, count: int, labels: tuple[str, ...]
) -> Iterator[Mistake]:
    return model_mistakes(kind, intercept, count, len(labels))


def model_mistakes(
    kind: str, intercept: bool, n_features: int, n_classes: int
) -> Iterator[Mistake]:
    classifier, size = kind in CLASSIFIERS, (n_features + intercept) * max(n_classes, 1)
    if classifier and n_classes < 2:
        must = Phrase("must name two or more labels for {kind}, which tells them apart", kind=kind)
        remedy = Phrase("List them, or use another model.")
        yield Mistake("target.labels", must, n_classes, remedy)
    if not classifier and n_classes:
        must = Phrase(
            "must suit target.labels, but {kind} predicts a number and takes no labels", kind=kind
        )
        remedy = Phrase("Remove them, or use {models}.", models=listed(CLASSIFIERS))
        yield Mistake("model.kind", must, Phrase("{n} labels", n=n_classes), remedy)
    if size > LARGEST_MODEL:
        must = Phrase("must make a model of at most {n} parameters", n=LARGEST_MODEL)
        yield Mistake("features.count", must, size, Phrase("Use fewer features or labels."))


@field_rule("collection.evaluators", "collection.counters")
def _some_checkins_train(evaluators: float | None, counters: float | None) -> Iterator[Mistake]:
    share = (evaluators or 0.0) + (counters or 0.0)
    if share > LARGEST_SHARE * (1 + 1e-9):
        must = Phrase("must be at most {n} together with collection.counters", n=LARGEST_SHARE)
        yield Mistake("collection.evaluators", must, share, Phrase("Lower one of them."))


@field_rule("collection.counters", "target.labels")
def _counters_need_labels(counters: float | None, labels: tuple[str, ...]) -> Iterator[Mistake]:
    if counters and not labels:
        must = Phrase("must be 0 where a number is predicted: there are no answers to count")
        yield Mistake("collection.counters", must, counters, Phrase("Remove it."))


@field_rule("privacy.mechanism", "collection.heldout", "collection.evaluators",
            "collection.counters", "collection.checkins", "model.clip")  # fmt: skip
def _options_fit(
    mechanism: str,
    heldout: float,
    evaluators: float,
    counters: float,
    checkins: int | None,
    clip: float | None,
) -> Iterator[Mistake]:
    """Reject fields that all terms have but this mechanism does not use."""
    options = MECHANISMS[mechanism].options
    shares = {"heldout": heldout, "evaluators": evaluators, "counters": counters}
    for name, share in shares.items():
        if share != 0 and f"collection.{name}" not in options:
            must = Phrase("must be 0 for the mechanism {mechanism}", mechanism=mechanism)
            yield Mistake(f"collection.{name}", must, share)
    if checkins is None and "collection.checkins" in options:
        must = Phrase("must be there for the mechanism {mechanism}", mechanism=mechanism)
        yield Mistake("collection.checkins", must, "null")
    if clip is None and "model.clip" in options:
        yield Mistake("model.clip", Phrase("must be a number where there is noise"), "null")
    if clip is not None and "model.clip" not in options:
        must = Phrase(
            "must be null for the mechanism {mechanism}, which needs none", mechanism=mechanism
        )
        yield Mistake("model.clip", must, clip)


def name_is_taken(name: str) -> Mistake:
    """Make the mistake of a task whose name another task of the server has."""
    taken = Phrase("is taken: there is a task {name} already", name=f"{name!r}")
    return Mistake("name", taken, remedy=Phrase("Choose another name."))


RULES = (
    _values_are_typed_in,
    _fields_are_typed_in,
    _count_is_what_is_made,
    _each_column_has_one,
    _names_differ,
    _sensors_name_their_own,
    _missing_has_a_center,
    _labels_differ,
    _buffer_holds_a_batch,
    _model_suits,
    _some_checkins_train,
    _counters_need_labels,
)
"""The rules that a task file and the terms have in common."""

TERMS_RULES = (*RULES, _options_fit)

"""Check whether a start fits a task, and choose what the terms and the server store of it."""

from collections.abc import Iterator

import numpy as np

from crowdml.errors import InvalidTask, Mistake
from crowdml.models import MODELS
from crowdml.phrase import Phrase
from crowdml.protocol.start import Start, StartSpec, StartTerms
from crowdml.protocol.terms import Terms
from crowdml.protocol.wire import encode_parameters
from crowdml.protocol.wording import shown

START_FIELD = "model.start"
FIT_AGAIN = Phrase("Fit the start again with this task's settings, or change the task.")


def split_start(start: Start, terms: Terms, words: str) -> tuple[StartTerms, StartSpec]:
    """Return what the terms and the server store of a start; `InvalidTask` if it does not fit.

    A model with intercepts may start from a model without; its intercepts are zero then.
    """
    mistakes = (*_shape_mistakes(start, terms), *_constant_mistakes(start, terms))
    if mistakes:
        raise InvalidTask(mistakes[0])
    parts = [np.ravel(start.weights)]
    if terms.model.intercept:
        none = np.zeros(len(start.weights))
        parts.append(none if start.intercepts is None else start.intercepts)
    w = np.concatenate(parts)
    if np.linalg.norm(w) > terms.model.radius:
        must = Phrase("must be at least the length of the start, {n}", n=float(np.linalg.norm(w)))
        raise InvalidTask(Mistake("model.radius", must, terms.model.radius))
    spec = StartSpec(encode_parameters(w), start.distance, start.error, start.error_margin)
    return StartTerms(spec.sha256, start.rows, start.people, words), spec


def _shape_mistakes(start: Start, terms: Terms) -> Iterator[Mistake]:
    kind, labels = terms.model.kind, terms.target.labels
    if MODELS[start.kind].classifier != MODELS[kind].classifier:
        must = Phrase("must be of a kind like {kind}", kind=kind)
        yield Mistake(START_FIELD, must, start.kind, FIT_AGAIN)
    if start.labels != labels:
        must = Phrase("must have the labels of target.labels, in their order: {labels}",
                      labels=", ".join(labels) or Phrase("none"))  # fmt: skip
        yield Mistake(START_FIELD, must, shown(", ".join(start.labels)), FIT_AGAIN)
    found = start.weights.shape[1]
    if found != terms.features.count:
        must = Phrase("must have weights for {n} features", n=terms.features.count)
        yield Mistake(START_FIELD, must, found, FIT_AGAIN)
    if start.intercepts is not None and start.intercepts.any() and not terms.model.intercept:
        must = Phrase("must have no intercepts where model.intercept is false")
        yield Mistake(START_FIELD, must, remedy=Phrase("Set model.intercept = true."))


def _constant_mistakes(start: Start, terms: Terms) -> Iterator[Mistake]:
    """Check that the pilot's rows were scaled as devices scale theirs."""
    features, count = terms.features, terms.features.count
    if start.names and start.names != features.column_names:
        wrong = next(
            pair
            for pair in zip(start.names, features.column_names, strict=False)
            if len({*pair}) > 1
        )
        must = Phrase(
            "must have the columns of features.names, in their order: {name}", name=wrong[1]
        )
        yield Mistake(START_FIELD, must, shown(wrong[0]), FIT_AGAIN)
    constants = {
        "center": (start.center or (0.0,) * count, features.center or (0.0,) * count),
        "scale": (start.scale, features.scale),
        "length": (start.length, features.length),
    }
    for name, (theirs, ours) in constants.items():
        if theirs != ours:
            must = Phrase("must be fitted to rows with the task's features.{name}", name=name)
            yield Mistake(START_FIELD, must, remedy=FIT_AGAIN)
    norm = terms.mechanism().norm
    if start.norm != norm:
        must = Phrase(
            "must be fitted to rows that are bounded in L{norm}, as the mechanism {mechanism} does",
            norm=norm,
            mechanism=terms.mechanism_name,
        )
        yield Mistake(START_FIELD, must, f"L{start.norm}", FIT_AGAIN)

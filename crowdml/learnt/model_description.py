"""Describe a model in its file: task, features, terms and promise."""

from typing import Annotated, Literal

import msgspec

from crowdml.protocol import Features, Terms


class ModelDescription(msgspec.Struct, frozen=True, kw_only=True):
    """Describe which task learnt the model, how features are read, and what was promised to whom.

    Args:
        version: Check-ins that the model was learnt from.
        kind: The kind of model, as in a task file.
        labels: The names of the classes 0, 1, …; none for a number.
        features: What the features are, in the task's words.
        names: The name of each column; x0, x1, … where nothing is known of it.
        named: Whether the task has named the columns itself.
        center, scale, length, missing: How readings become features, as in a task file.
        norm: A row of features that is longer than 1 in this norm, 1 or 2, is rescaled to 1.
        terms_sha256: The hash of the terms that every participant agreed to.
        mechanism: What hid the samples.
        epsilon: ε for the unit, at most; "inf" if nothing was hidden.
        delta: δ; 0 for a pure ε.
        unit: Whom ε is for: a `person`, a `sample` or a `reading`.
    """

    format: Literal["crowdml model 1"] = "crowdml model 1"
    task: str
    version: Annotated[int, msgspec.Meta(ge=1)]
    kind: str
    labels: tuple[str, ...]
    features: str
    names: Annotated[tuple[str, ...], msgspec.Meta(min_length=1)]
    named: bool = False
    center: tuple[float, ...] = ()
    scale: tuple[float, ...] = ()
    length: Annotated[float, msgspec.Meta(gt=0)] = 1.0
    missing: Literal["reject", "center"] = "reject"
    norm: Literal[1, 2]
    terms_sha256: str
    mechanism: str
    epsilon: float | Literal["inf"]
    delta: float
    unit: Literal["person", "reading", "sample"]

    @classmethod
    def of(cls, terms: Terms, terms_sha256: str, version: int) -> "ModelDescription":
        promise = terms.promise
        return cls(
            task=terms.task,
            version=version,
            kind=terms.model.kind,
            labels=terms.target.labels,
            features=terms.features.description,
            names=terms.features.column_names,
            named=bool(terms.features.names),
            center=terms.features.center,
            scale=terms.features.scale,
            length=terms.features.length,
            missing=terms.features.missing,
            norm=2 if terms.mechanism().norm == 2 else 1,
            terms_sha256=terms_sha256,
            mechanism=terms.mechanism_name,
            epsilon="inf" if promise.exact else promise.epsilon_of_terms,
            delta=promise.delta,
            unit=promise.whom,
        )

    @property
    def readings(self) -> Features:
        """Return the transformation from readings to features."""
        return Features(
            len(self.names),
            names=self.names,
            center=self.center,
            scale=self.scale,
            length=self.length,
            missing=self.missing,
        )

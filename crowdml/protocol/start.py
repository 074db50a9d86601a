"""Describe where w starts, if not at zero: as it was fitted, in the terms, and on the server."""

import hashlib
from dataclasses import dataclass
from typing import Annotated, Literal, NamedTuple, TypeAlias

import msgspec
import numpy as np

from crowdml.errors import InvalidInput
from crowdml.models import MODELS
from crowdml.optim import pilot_reach
from crowdml.phrase import Phrase
from crowdml.protocol.features import Text
from crowdml.protocol.numbers_in_words import count_of
from crowdml.protocol.wire import Sha256
from crowdml.types import Array

Count: TypeAlias = Annotated[int, msgspec.Meta(ge=1, le=10**9)]

LARGEST_PARAMETER = 1e30
"""The largest parameter: a larger one is not a fit, and may not be finite as a float32."""


@dataclass(frozen=True, eq=False)
class Start:
    """Hold the w of version 0, fitted to a pilot or learnt by an earlier task; no row of the pilot.

    Args:
        kind: The kind of model, as in a task file.
        labels: The names of the classes 0, 1, …; none for a number.
        weights: K×D, a row for each label, or one.
        intercepts: K; None for a model without.
        names: The names of the columns; none if empty.
        center: What was subtracted from each column; nothing if empty.
        scale: What each column was divided by; nothing if empty.
        length: The common divisor of all columns.
        missing: Whether rows with a missing value were rejected, or had the center there.
        norm: Rows were bounded to length 1 in this norm, 1 or 2.
        rows: Rows of the pilot; None for a model that a task has learnt.
        people: People in the pilot; None where that is not known.
        regularization: λ; 0 if unknown.
        distance: d_boot, how far w moves when it is fitted to rows drawn with replacement; None
            where that is not known, as for a model that a task has learnt.
        error: The cross-validated error of the pilot alone.
        error_margin: Half of the error's 95 % interval.
        scale_of_target: The typical size of a number that is predicted; 1 for labels.

    >>> start = Start("softmax", ("no", "yes"), np.array([[0.1], [-0.1]]), rows=40)
    >>> start.w                                                         # as float32 has them
    array([ 0.1, -0.1])
    """

    kind: str
    labels: tuple[str, ...]
    weights: Array
    intercepts: Array | None = None
    names: tuple[str, ...] = ()
    center: tuple[float, ...] = ()
    scale: tuple[float, ...] = ()
    length: float = 1.0
    missing: Literal["reject", "center"] = "reject"
    norm: Literal[1, 2] = 2
    rows: int | None = None
    people: int | None = None
    regularization: float = 0.0
    distance: float | None = None
    error: float | None = None
    error_margin: float | None = None
    scale_of_target: float = 1.0

    def __post_init__(self) -> None:
        if self.kind not in MODELS:
            raise InvalidInput(f"a start's kind must be {', '.join(MODELS)}, found {self.kind!r}.")
        k = max(len(self.labels), 1)
        intercepts = np.zeros(k) if self.intercepts is None else self.intercepts
        shapes, d = (np.shape(self.weights), np.shape(intercepts)), np.shape(self.weights)[-1:]
        if shapes != ((k, *d), (k,)) or 0 in d:
            raise InvalidInput(
                f"a start of {len(self.labels)} labels must have {k}×D weights and {k} intercepts "
                f"or none, found the shapes {shapes[0]} and {shapes[1]}."
            )
        if not all(
            (np.abs(part) <= LARGEST_PARAMETER).all() for part in (self.weights, intercepts)
        ):
            raise InvalidInput("a start's parameters must be finite numbers, found others.")
        for name in ("names", "center", "scale"):
            if len(getattr(self, name)) not in (0, *d):
                raise InvalidInput(
                    f"a start of {d[0]} columns must have as many {name} or none, found "
                    f"{len(getattr(self, name))}."
                )
        if self.distance is not None and self.rows is None:
            raise InvalidInput("a start with a distance must have the number of its rows.")

    @property
    def w(self) -> Array:
        """Return the flat parameters in the model's order, rounded to float32."""
        return np.frombuffer(self.data, "<f4").astype(np.float64)

    @property
    def data(self) -> bytes:
        """Return the bytes that a check-out of version 0 carries: little-endian float32."""
        parts = [np.ravel(self.weights), *([] if self.intercepts is None else [self.intercepts])]
        return np.concatenate(parts).astype("<f4").tobytes()

    @property
    def sha256(self) -> str:
        """Return the SHA-256 of `data`, in hexadecimal."""
        return hashlib.sha256(self.data).hexdigest()


class StartTerms(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Hold what participants agree to: which parameters, and where they come from.

    Args:
        sha256: The hash of the parameters of version 0, as a check-out carries them.
        rows: Samples of the pilot; null for a model that an earlier task has learnt.
        people: People in the pilot; null where that is not known.
        words: The origin of the start, in the owner's words.
    """

    sha256: Sha256
    rows: Count | None
    people: Count | None
    words: Text

    @property
    def phrase(self) -> Phrase:
        """Write one sentence for participants.

        >>> print(StartTerms("0" * 64, 200, 4, "two afternoons in our office").phrase)
        The model starts from a pilot of 200 samples of 4 people (two afternoons in our office).
        >>> print(StartTerms("0" * 64, 200, None, "").phrase)
        The model starts from a pilot of 200 samples.
        >>> print(StartTerms("0" * 64, None, None, "last year's model").phrase)
        The model starts from one that was learnt before (last year's model).
        """
        if self.rows is None:
            if not self.words:
                return Phrase("The model starts from one that was learnt before.")
            return Phrase(
                "The model starts from one that was learnt before ({words}).", words=self.words
            )
        pilot = count_of("sample", self.rows)
        if self.people is not None:
            people = count_of("person", self.people)
            pilot = Phrase("{samples} of {people}", samples=pilot, people=people)
        if not self.words:
            return Phrase("The model starts from a pilot of {pilot}.", pilot=pilot)
        return Phrase(
            "The model starts from a pilot of {pilot} ({words}).", pilot=pilot, words=self.words
        )


class StartSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Hold what the server stores of a start, besides what the terms say.

    Args:
        data: w at version 0, little-endian float32.
        distance: d_boot; null where that is not known.
        error: The error of the start alone, as cross-validation of its pilot found it.
        error_margin: Half of the error's 95 % interval.
    """

    data: bytes
    distance: float | None = None
    error: float | None = None
    error_margin: float | None = None

    @property
    def w(self) -> Array:
        """Return the flat parameters."""
        return np.frombuffer(self.data, "<f4").astype(np.float64)

    @property
    def sha256(self) -> str:
        """Return the hash that the terms must have."""
        return hashlib.sha256(self.data).hexdigest()


class ReachFromStart(NamedTuple):
    """Hold what decides how far w goes from a start of known uncertainty: see `pilot_reach`."""

    distance: float
    rows: int
    people: int | None
    size: int
    scale: float

    def reach_for(self, ratio: float) -> float:
        """Return D for a crowd whose signal-to-noise ratio ρ is `ratio`."""
        return pilot_reach(self.distance, self.rows, self.people, ratio, self.size, self.scale)

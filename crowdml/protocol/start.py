"""Describe where w starts, if not at zero: in the terms, and on the server."""

import hashlib
from typing import Annotated, NamedTuple, TypeAlias

import msgspec
import numpy as np

from crowdml.optim import pilot_reach
from crowdml.phrase import Phrase
from crowdml.protocol.features import Text
from crowdml.protocol.numbers_in_words import count_of
from crowdml.protocol.wire import Sha256
from crowdml.types import Array

Count: TypeAlias = Annotated[int, msgspec.Meta(ge=1, le=10**9)]


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

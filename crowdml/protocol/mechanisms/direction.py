"""Define the mechanism `direction` in a task: its terms, their rules, its sentences."""

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, ClassVar

import msgspec

from crowdml.errors import Mistake
from crowdml.phrase import Phrase
from crowdml.privacy import (
    LARGEST_CHOICE,
    DirectionEvent,
    DirectionMechanism,
    DirectionPayload,
    Mechanism,
    Role,
    Unit,
    best_closest,
)
from crowdml.protocol.mechanisms.kind import (
    Conditions,
    Epsilon,
    MechanismKind,
    WantedPrivacy,
    WrittenTerms,
)
from crowdml.protocol.numbers_in_words import four_digits_up, times_in_words
from crowdml.protocol.review import field_rule

if TYPE_CHECKING:
    from crowdml.protocol.promise import Promise, RoleShare

DIRECTIONS = 1024
"""k, where a task does not say."""


class DirectionTerms(WrittenTerms, frozen=True, tag="direction"):
    """Hold the total ε of a person over all check-ins, and the number of directions."""

    norm: ClassVar[int] = DirectionMechanism.norm

    epsilon: Epsilon
    directions: Annotated[int, msgspec.Meta(ge=2, le=4096)]
    closest: Annotated[int, msgspec.Meta(ge=1, le=4095)]

    @classmethod
    def of(cls, wanted: WantedPrivacy) -> "DirectionTerms":
        k = wanted.directions or DIRECTIONS
        return cls(wanted.epsilon, k, best_closest(k, wanted.epsilon / wanted.checkins))

    @property
    def wanted(self) -> WantedPrivacy:
        return WantedPrivacy(self.epsilon, directions=self.directions)

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


# Rules


@field_rule("privacy.epsilon", "collection.checkins")
def _a_direction_hides(epsilon: float, checkins: int | None) -> Iterator[Mistake]:
    if epsilon == math.inf:
        must = Phrase("must be finite for the mechanism direction, which always hides")
        remedy = Phrase('For a task that is NOT PRIVATE say mechanism = "laplace" as well.')
        yield Mistake("privacy.epsilon", must, "inf", remedy)
    elif epsilon / (checkins or 1) > LARGEST_CHOICE:
        must = Phrase(
            "must be at most {n} for a check-in of the mechanism direction", n=LARGEST_CHOICE
        )
        yield Mistake("privacy.epsilon", must, epsilon / (checkins or 1))


@field_rule("stop.window", "stop.samples")
def _a_window_holds_enough(window: int, samples: int | None) -> Iterator[Mistake]:
    if samples is not None and samples > window:
        must = Phrase(
            "must be at most stop.window, {n}, where a check-in is about one sample", n=window
        )
        yield Mistake("stop.samples", must, samples, Phrase("Widen the window, or lower it."))


@field_rule("privacy.directions", "privacy.closest")
def _some_are_not_the_closest(directions: int, closest: int) -> Iterator[Mistake]:
    if closest >= directions:
        must = Phrase("must be less than privacy.directions, {n}", n=directions)
        yield Mistake("privacy.closest", must, closest)


# Sentences


def _sending_sentences(promise: "Promise") -> Iterator[tuple[str, Phrase]]:
    if len(promise.roles) > 1:
        yield "rule", Phrase("A public rule, not your device, decides what a check-in sends.")
    for share in promise.roles:
        yield share.role.value, _role(promise, share)
        if share.role is Role.COUNT:
            yield (
                "answer",
                Phrase(
                    "Some check-ins send your answer to one sample, true {times}.",
                    times=times_in_words(share.truth),
                ),
            )
    yield "hides", randomness_hides(promise)


def _role(promise: "Promise", share: "RoleShare") -> Phrase:
    n, of = share.n, share.of
    if share.role is Role.TRAIN and n == of:
        return Phrase(
            "In every check-in it sends one number: which of {directions} directions the "
            "model should move in.",
            directions=promise.directions,
        )
    if share.role is Role.TRAIN:
        return Phrase(
            "In {n} of {of} check-ins it sends one number: which of {directions} directions "
            "the model should move in.",
            n=n,
            of=of,
            directions=promise.directions,
        )
    if share.role is Role.COUNT:
        return Phrase(
            "In {n} of {of} check-ins it sends only your answer to one sample. The answer "
            "sent is the true one {times}; otherwise it is made up.",
            n=n,
            of=of,
            times=times_in_words(share.truth),
        )
    if promise.has_labels:
        return Phrase(
            "In {n} of {of} check-ins it sends only whether the model was right about one of "
            "your samples. What it sends is true {times}; otherwise it is the opposite.",
            n=n,
            of=of,
            times=times_in_words(share.truth),
        )
    return Phrase(
        "In {n} of {of} check-ins it sends only whether the model was within {tolerance} of "
        "the number in one of your samples. What it sends is true {times}; otherwise it is "
        "the opposite.",
        n=n,
        of=of,
        tolerance=four_digits_up(promise.tolerance),
        times=times_in_words(share.truth),
    )


def randomness_hides(promise: "Promise") -> Phrase:
    if promise.level.key == "none":
        return Phrase("What is sent is changed at random, but so little that nothing is protected.")
    if promise.weak:
        return Phrase(
            "What is sent is changed at random, but so little that a guess about you can become "
            "nearly certain."
        )
    return Phrase("What is sent is partly random, never certain.")


DIRECTION = MechanismKind(
    terms=DirectionTerms,
    payload_type=DirectionPayload,
    event=DirectionEvent,
    unit=Unit.CHECKIN,
    words="protects the whole person: a check-in is one small number, partly random",
    sending_sentences=_sending_sentences,
    options=frozenset(
        {
            "privacy.directions",
            "collection.checkins",
            "collection.evaluators",
            "collection.counters",
        }
    ),
    trials=200_000,
    errors_without_and_with_liars=(0.007, 0.01),
    one_file=True,
    task_rules=(_a_direction_hides, _a_window_holds_enough),
    terms_rules=(_some_are_not_the_closest, _a_direction_hides),
)

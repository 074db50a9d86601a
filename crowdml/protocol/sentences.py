"""Every sentence about a promise, as English templates and their values."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from crowdml.phrase import Phrase
from crowdml.privacy import PRIVATE_UP_TO, Role
from crowdml.protocol.figures import certainty, counted, times, whole, written_epsilon

if TYPE_CHECKING:
    from crowdml.protocol.promise import Promise, RoleShare

__all__ = ["LEAVES", "LOST", "sentences_of"]

LEAVES = ("stays", "often", "rule", "train", "evaluate", "count", "numbers", "hides")
LOST = ("epsilon", "delta", "loss", "less", "single", "common", "readings")
"""Which sentences answer which question, in the order in which they are read."""

WHOM: Mapping[str, Phrase] = {
    "person": Phrase("a person"),
    "sample": Phrase("a sample"),
    "reading": Phrase("a reading"),
}


def sentences_of(promise: "Promise") -> Iterator[tuple[str, Phrase]]:
    """Write every sentence about a promise, by its name, in the order in which they are read."""
    if not promise.private:
        yield "not_private", _not_private(promise)
    yield "stays", _stays(promise)
    yield "often", _often(promise)
    if len(promise.roles) > 1:
        yield "rule", Phrase("A public rule, not your device, decides what a check-in sends.")
    if promise.roles:
        yield from ((share.role.value, _role(promise, share)) for share in promise.roles)
    else:
        yield "numbers", _numbers(promise)
    yield "hides", _hides(promise)
    yield "epsilon", _epsilon(promise)
    if promise.delta and not promise.exact:
        yield (
            "delta",
            Phrase(
                "With a chance of one in {n}, more can be learnt than that.",
                n=whole(round(1 / promise.delta)),
            ),
        )
    yield "loss", _loss(promise)
    if promise.epsilon_per_checkin is not None and promise.checkins > 1:
        yield (
            "less",
            Phrase(
                "With one check-in instead of {n} it would be {times}.",
                n=whole(promise.checkins),
                times=times(certainty(promise.epsilon_per_checkin)),
            ),
        )
    if promise.whom != "person" and not promise.exact:
        if promise.checkins > 1 or promise.for_a_reading:
            yield (
                "single",
                Phrase(
                    "For a single sample it would be {times}.",
                    times=times(certainty(promise.epsilon_per_sample)),
                ),
            )
        yield "common", Phrase("What all your samples have in common has no such bound.")
    if promise.shared > 1 and not promise.exact:
        yield (
            "readings",
            Phrase(
                "One reading of your sensor is in up to {n} samples: for a reading, ε = {epsilon}.",
                n=whole(promise.shared),
                epsilon=written_epsilon(promise.epsilon_per_reading),
            ),
        )


def _not_private(promise: "Promise") -> Phrase:
    if promise.exact:
        return Phrase("It sends numbers from which your samples can be worked out (ε = ∞).")
    each = promise.whom != "person" and promise.epsilon_of_terms <= PRIVATE_UP_TO
    return Phrase(
        "It has ε = {epsilon} for {whom}. Above {most} nothing is protected: a guess can "
        "become certain.",
        epsilon=written_epsilon(promise.epsilon if each else promise.epsilon_of_terms),
        whom=Phrase("one sample in each check-in") if each else WHOM[promise.whom],
        most=written_epsilon(PRIVATE_UP_TO),
    )


def _stays(promise: "Promise") -> Phrase:
    samples = counted("sample", promise.batch)
    if promise.private:
        return Phrase(
            "Your samples never leave your device. When it has {samples}, it sends one "
            "message, a check-in.",
            samples=samples,
        )
    return Phrase(
        "Your device sends numbers from which your samples can be worked out. When it has "
        "{samples}, it sends one message, a check-in.",
        samples=samples,
    )


def _often(promise: "Promise") -> Phrase:
    if promise.checkins == 1:
        return Phrase("It sends one check-in, and no more.")
    return Phrase("It stops after {n} check-ins.", n=whole(promise.checkins))


def _role(promise: "Promise", share: "RoleShare") -> Phrase:
    n, of = whole(share.n), whole(share.of)
    directions = whole(promise.directions)
    if share.role is Role.TRAIN and share.n == share.of:
        return Phrase(
            "In every check-in it sends one number: which of {directions} directions the "
            "model should move in.",
            directions=directions,
        )
    if share.role is Role.TRAIN:
        return Phrase(
            "In {n} of {of} check-ins it sends one number: which of {directions} directions "
            "the model should move in.",
            n=n,
            of=of,
            directions=directions,
        )
    if share.role is Role.COUNT:
        return Phrase(
            "In {n} of {of} check-ins it sends only your answer to one sample. The answer "
            "sent is the true one {times}; otherwise it is made up.",
            n=n,
            of=of,
            times=times(share.truth),
        )
    if promise.counted:
        return Phrase(
            "In {n} of {of} check-ins it sends only whether the model was right about one of "
            "your samples. What it sends is true {times}; otherwise it is the opposite.",
            n=n,
            of=of,
            times=times(share.truth),
        )
    return Phrase(
        "In {n} of {of} check-ins it sends only whether the model was within {tolerance} of "
        "the number in one of your samples. What it sends is true {times}; otherwise it is "
        "the opposite.",
        n=n,
        of=of,
        tolerance=written_epsilon(promise.tolerance),
        times=times(share.truth),
    )


def _numbers(promise: "Promise") -> Phrase:
    if promise.counted:
        return Phrase(
            "A check-in holds {n} numbers: which way the model should move, how many of its "
            "predictions were wrong, and how many samples had each answer.",
            n=whole(promise.numbers),
        )
    return Phrase(
        "A check-in holds {n} numbers: which way the model should move, and how many of its "
        "predictions were wrong.",
        n=whole(promise.numbers),
    )


def _hides(promise: "Promise") -> Phrase:
    if promise.exact:
        return Phrase("They are sent exactly as they are.")
    if promise.whom == "person":
        if promise.level.key == "none":
            return Phrase("Chance changes what is sent so little that nothing is protected.")
        if promise.weak:
            return Phrase(
                "Chance changes what is sent so little that a guess about you can become "
                "nearly certain."
            )
        return Phrase(
            "Chance has a part in what is sent, so nobody can be sure what your samples are."
        )
    if promise.level.key == "none":
        return Phrase("So little noise is added to them that nothing is protected.")
    if promise.weak:
        return Phrase(
            "Noise is added to each of them, but so little that a guess about what your "
            "samples have in common can become nearly certain."
        )
    return Phrase("Noise is added to each of them before they leave.")


def _epsilon(promise: "Promise") -> Phrase:
    if promise.exact:
        return Phrase("ε = ∞: nothing is protected.")
    epsilon = written_epsilon(promise.epsilon_over_checkins)
    if promise.whom == "person":
        return Phrase("ε = {epsilon}, for everything that you send to this task.", epsilon=epsilon)
    if promise.checkins == 1:
        return Phrase("ε = {epsilon}, for a single sample.", epsilon=epsilon)
    return Phrase(
        "ε = {epsilon} for one sample in each of {n} check-ins, and ε = {single} for a single "
        "sample.",
        epsilon=epsilon,
        n=whole(promise.checkins),
        single=written_epsilon(promise.epsilon_per_sample),
    )


def _loss(promise: "Promise") -> Phrase:
    if promise.exact:
        return Phrase(
            "Your samples can be worked out from what your device sends. We call that {level}.",
            level=promise.level.word,
        )
    often, level = times(promise.certainty), promise.level.word
    if promise.for_a_reading:
        return Phrase(
            "Suppose somebody wonders which of two values one reading of your sensor had, and "
            "could only toss a coin. From everything your device sends they could at worst be "
            "right {times}. We call that {level}.",
            times=often,
            level=level,
        )
    if promise.whom != "person":
        return Phrase(
            "Suppose somebody wonders {question} in one sample of each check-in, and could "
            "only toss a coin. From {checkins} they could at worst be right {times}. We call "
            "that {level}.",
            question=_question(promise),
            checkins=counted("check-in", promise.checkins),
            times=often,
            level=level,
        )
    return Phrase(
        "Suppose somebody wonders {question}, and could only toss a coin. From everything "
        "your device sends they could at worst be right {times}. We call that {level}.",
        question=_question(promise),
        times=often,
        level=level,
    )


def _question(promise: "Promise") -> Phrase:
    """Return a question about the participant, in the task's own answers."""
    if not promise.answers:
        return Phrase("whether your number was high or low")
    first, second = promise.answers
    return Phrase("whether your answer was “{first}” or “{second}”", first=first, second=second)

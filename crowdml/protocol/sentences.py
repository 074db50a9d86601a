"""Write every sentence about a promise, as English templates and their values."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from crowdml.phrase import Phrase
from crowdml.privacy import PRIVATE_UP_TO
from crowdml.protocol.mechanisms import MECHANISMS
from crowdml.protocol.numbers_in_words import at_most_times, count_of, four_digits_up

if TYPE_CHECKING:
    from crowdml.protocol.promise import Promise

SENDING_SENTENCES = ("stays", "often", "rule", "train", "evaluate", "count", "numbers", "hides")
LOSS_SENTENCES = ("epsilon", "readings", "loss", "less", "single", "delta", "common")
"""The sentences that answer each question, in reading order."""

SHORT_LOSS_SENTENCES = ("loss", "delta", "common")
"""The sentences that answer each question in short."""

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
    yield from MECHANISMS[promise.mechanism].sending_sentences(promise)
    yield "epsilon", _epsilon(promise)
    if promise.shared > 1 and not promise.exact:
        readings = Phrase(
            "One reading of your sensor is in up to {n} samples: for a reading, ε is at most "
            "{epsilon}.",
            n=promise.shared,
            epsilon=four_digits_up(promise.epsilon_per_reading),
        )
        yield "readings", readings
    yield "loss", _loss(promise)
    if promise.epsilon_per_checkin is not None and promise.checkins > 1:
        n, often = promise.checkins, at_most_times(promise.certainty_of_one)
        less = Phrase("With one check-in instead of {n} it would be {times}.", n=n, times=often)
        yield "less", less
    sampled = promise.whom != "person" and not promise.exact
    if sampled and (promise.checkins > 1 or promise.for_a_reading):
        often = at_most_times(promise.certainty_of_one)
        yield "single", Phrase("For a single sample it would be {times}.", times=often)
    if promise.delta and not promise.exact:
        yield "delta", _delta(promise)
    if sampled:
        yield "common", Phrase("The promise does not cover what all your samples have in common.")


def _not_private(promise: "Promise") -> Phrase:
    if promise.exact:
        return Phrase("It sends numbers from which your samples can be worked out (ε = ∞).")
    each = promise.whom != "person" and promise.epsilon_of_terms <= PRIVATE_UP_TO
    return Phrase(
        "It has ε = {epsilon} for {whom}. Above {most} nothing is protected: a guess can "
        "become certain.",
        epsilon=four_digits_up(promise.epsilon if each else promise.epsilon_of_terms),
        whom=Phrase("one sample in each check-in") if each else WHOM[promise.whom],
        most=four_digits_up(PRIVATE_UP_TO),
    )


def _stays(promise: "Promise") -> Phrase:
    samples = count_of("sample", promise.batch)
    if promise.private:
        return Phrase(
            "Your readings never leave your device. When it has {samples}, it sends one "
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
    return Phrase("It stops after {n} check-ins.", n=promise.checkins)


def _epsilon(promise: "Promise") -> Phrase:
    if promise.exact:
        return Phrase("ε = ∞: nothing is protected.")
    epsilon = four_digits_up(promise.epsilon_over_checkins)
    if promise.whom == "person":
        return Phrase("ε = {epsilon}, for everything that you send to this task.", epsilon=epsilon)
    if promise.checkins == 1:
        return Phrase("ε = {epsilon}, for a single sample.", epsilon=epsilon)
    return Phrase(
        "ε = {epsilon} for one sample in each of {n} check-ins, and ε = {single} for a single "
        "sample.",
        epsilon=epsilon,
        n=promise.checkins,
        single=four_digits_up(promise.epsilon_per_sample),
    )


def _loss(promise: "Promise") -> Phrase:
    if promise.exact:
        return Phrase(
            "Your samples can be worked out from what your device sends. We call that {level}.",
            level=promise.level.word,
        )
    sure, level = _sure(promise.certainty), promise.level.word
    if promise.for_a_reading:
        return Phrase(
            "Suppose somebody wonders which of two values one reading of your sensor had, and "
            "guesses right half the time. From everything your device sends they could at worst be "
            "{sure}. We call that {level}.",
            sure=sure,
            level=level,
        )
    if promise.whom != "person":
        return Phrase(
            "Suppose somebody wonders {question} in one sample of each check-in, and guesses "
            "right half the time. From {checkins} they could at worst be {sure}. We call that "
            "{level}.",
            question=_question(promise),
            checkins=count_of("check-in", promise.checkins),
            sure=sure,
            level=level,
        )
    return Phrase(
        "Suppose somebody wonders {question}, and guesses right half the time. From everything "
        "your device sends they could at worst be {sure}. We call that {level}.",
        question=_question(promise),
        sure=sure,
        level=level,
    )


def _sure(certainty: float) -> Phrase:
    """Say how sure somebody can become; nobody reads "right practically always" with ease."""
    often = at_most_times(certainty)
    if "n" not in often.values:
        return Phrase("practically certain")
    return Phrase("right {times}", times=often)


def _delta(promise: "Promise") -> Phrase:
    """Say how often more is learnt than `Promise.certainty`."""
    n = round(1 / promise.excess_probability)
    if promise.excess_probability > promise.delta:
        return Phrase(
            "With a chance of at most one in {n}, ten times the δ of this task, more can be learnt "
            "than that.",
            n=n,
        )
    return Phrase(
        "With a chance of one in {n}, the δ of this task, more can be learnt than that.", n=n
    )


def _question(promise: "Promise") -> Phrase:
    """Return a question about the participant, in the task's own labels."""
    if not promise.first_labels:
        return Phrase("whether your number was high or low")
    first, second = promise.first_labels
    return Phrase("whether your answer was “{first}” or “{second}”", first=first, second=second)

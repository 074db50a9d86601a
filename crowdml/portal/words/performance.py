"""Describe how well a task's model works: its current error, compared with guessing."""

from dataclasses import dataclass
from typing import NamedTuple

from crowdml.portal.words import plain as words
from crowdml.portal.words.language import NBSP, say
from crowdml.portal.words.shares import label_shares
from crowdml.protocol import Estimate, Statistics, Task, is_precise_enough
from crowdml.server.log import TaskHistory


class TaskNumbers(NamedTuple):
    """Hold the numbers behind the words and charts of a task; all come from sanitised check-ins."""

    task: Task
    statistics: Statistics
    history: TaskHistory


class Guess(NamedTuple):
    """Describe a way to guess without features, and how often the guess is wrong."""

    error: Estimate
    how: str

    @property
    def words(self) -> str:
        if self.error.margin:
            return words.error(self.error)
        return say("{share} wrong", share=words.percent(self.error.value))


@dataclass(frozen=True)
class Performance:
    numbers: TaskNumbers

    @property
    def error(self) -> Estimate | None:
        """Return the current error of the exported model."""
        return self.numbers.statistics.error

    @property
    def guess(self) -> Guess | None:
        return guess_of(self.numbers.task, self.numbers.statistics)

    @property
    def sentence(self) -> str:
        """Describe in one sentence what is known about the model."""
        if not is_precise_enough(self.error):
            return say("How often the model is wrong is not known.")
        wrong = say(
            "Of the predictions of the model as it is now, {error} are wrong.",
            error=words.estimate(self.error),
        )
        return f"{wrong} {self._compared}"

    @property
    def _compared(self) -> str:
        guess, error = self.guess, self.error
        if guess is None or error is None:
            return what_is_wrong(self.numbers.task)
        values = {"how": guess.how, "guess": guess.words}
        if error.high < guess.error.low:
            return say("That is better than {how} ({guess}).", **values)
        if error.low > guess.error.high:
            return say("That is worse than {how} ({guess}).", **values)
        return say("Whether that is better than {how} ({guess}) is not known.", **values)

    @property
    def typical_error(self) -> str:
        """Write the typical error of a predicted number; empty for labels, or if unknown."""
        if (
            self.numbers.task.terms.n_classes
            or self.error is None
            or not is_precise_enough(self.error)
        ):
            return ""
        right = Estimate(1 - self.error.value, self.error.margin)
        return say(
            "Of its predictions, {share} are off by at most {off}.",
            share=words.estimate(right),
            off=tolerance(self.numbers.task),
        )

    @property
    def outcome(self) -> str:
        """Describe the result of a task that has ended."""
        now = self.numbers.statistics
        progress = say(
            "It ended after {checkins} from {devices}.",
            checkins=words.say_count(now.version, "check-in"),
            devices=words.say_count(now.active_devices, "device"),
        )
        return f"{progress} {self.sentence}" if now.version else progress


def guess_of(task: Task, statistics: Statistics) -> Guess | None:
    """Return the best guess: the most frequent answer, if it is known which one that is.

    None for a number, because a guess of it depends on how the numbers are distributed.
    """
    if not task.terms.n_classes:
        return None
    at_random = 1 - 1 / task.terms.n_classes
    shares = label_shares(task, statistics)
    top = max(shares, key=lambda share: share.value, default=None)
    rest = max((share.value + share.margin for share in shares if share is not top), default=0.0)
    if top is None or top.value - top.margin <= rest:
        return Guess(Estimate(at_random, 0.0), say("guessing at random"))
    # The most frequent of C answers has a share of 1/C or more.
    low = max(1 - top.value - top.margin, 0.0)
    high = min(1 - top.value + top.margin, at_random)
    error = Estimate((low + high) / 2, (high - low) / 2)
    return Guess(error, say("always answering “{label}”", label=top.label))


def what_is_wrong(task: Task) -> str:
    """Describe what counts as an error."""
    terms = task.terms
    if terms.n_classes:
        return say("A prediction is wrong if it gives another answer than the participant did.")
    return say("A prediction is wrong if it is off by more than {off}.", off=tolerance(task))


def tolerance(task: Task) -> str:
    """Write by how much a predicted number may be off, in its unit."""
    terms = task.terms
    return f"{words.number(terms.model.tolerance, 6)}{NBSP}{terms.target.unit}".rstrip()

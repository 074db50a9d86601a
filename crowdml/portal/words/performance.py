"""How well a task's model does, in words: its error as it is now, beside guessing."""

from dataclasses import dataclass
from typing import NamedTuple

from crowdml.portal.words import plain as words
from crowdml.portal.words.language import say
from crowdml.portal.words.shares import label_shares
from crowdml.protocol import Estimate, Statistics, Task
from crowdml.server.log import Course

SURE_OF_SHARE = 0.1
"""A margin below which the most common label counts as known."""


class Facts(NamedTuple):
    """What words and charts about a task are made from: sanitised check-ins, and nothing else."""

    task: Task
    statistics: Statistics
    course: Course


class Guess(NamedTuple):
    """Who knows no features, and how often that is wrong."""

    error: float
    how: str


@dataclass(frozen=True)
class Performance:
    facts: Facts

    @property
    def error(self) -> Estimate | None:
        """The error of the model that people use, as it is now."""
        return self.facts.statistics.error

    @property
    def guess(self) -> Guess | None:
        return guess_of(self.facts.task, self.facts.statistics)

    @property
    def sentence(self) -> str:
        """What is known of the model, for whoever reads one sentence."""
        if not words.known(self.error):
            return say("How often it is wrong is not known yet.")
        wrong = say(
            "Of the predictions of the model as it is now, {error} are wrong.",
            error=words.estimate(self.error),
        )
        return f"{wrong} {self._compared}"

    @property
    def _compared(self) -> str:
        guess, error = self.guess, self.error
        if guess is None or error is None:
            return what_is_wrong(self.facts.task)
        values = {"how": guess.how, "guess": words.percent(guess.error)}
        if error.value + error.margin < guess.error:
            return say("That is better than {how}, which is wrong in {guess} of cases.", **values)
        return say(
            "Whether that is better than {how}, which is wrong in {guess} of cases, is not known "
            "yet.",
            **values,
        )

    @property
    def outcome(self) -> str:
        """What came out of a task that has ended."""
        now = self.facts.statistics
        progress = say(
            "It ended after {checkins} from {devices}.",
            checkins=words.counted(now.version, "check-in"),
            devices=words.counted(now.active_devices, "device"),
        )
        return f"{progress} {self.sentence}" if now.version else progress


def guess_of(task: Task, statistics: Statistics) -> Guess | None:
    """None for a number: how well one is guessed depends on what the numbers are."""
    if not task.terms.n_classes:
        return None
    shares = label_shares(task, statistics)
    top = max(shares, key=lambda share: share.value, default=None)
    if top is not None and top.margin < SURE_OF_SHARE:
        return Guess(1 - top.value, say("always saying “{label}”", label=top.label))
    return Guess(1 - 1 / task.terms.n_classes, say("guessing at random"))


def what_is_wrong(task: Task) -> str:
    """What counts as an error."""
    terms = task.terms
    if terms.n_classes:
        return say("A prediction is wrong if it names another label than the participant did.")
    off = words.local(f"{terms.model.tolerance:g}")
    return say("A prediction is wrong if it is off by more than {off}.", off=off)

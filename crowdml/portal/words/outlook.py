"""Describe how a task will continue: its pace, what is uncertain, and what would help."""

import math
import time
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from crowdml.learning import current_error
from crowdml.portal.words.language import say
from crowdml.portal.words.performance import Performance, TaskNumbers
from crowdml.portal.words.plain import count, say_count
from crowdml.portal.words.shares import label_shares
from crowdml.privacy import Unit
from crowdml.protocol import Estimate, State, Task, is_precise_enough

MOST_REPORTS = 2000
"""The most rows of reports that are computed; with more reports, a row stands for several."""

WEEK = 7 * 86400
VAGUE_MARGIN, CLEAR_MARGIN = 0.3, 0.1
"""Margins of an error: one that shows hardly anything, and one that satisfies most owners."""

WORTHWHILE_RATIO = 0.8
"""Advice is given only if it would shrink the margin to this share, or less."""

NEVER_ENDS = 5 * 365 * 86400
"""Seconds that count as never: nobody waits this long."""


def expected_margin(task: Task, checkins: int) -> float | None:
    """Return the margin of the error after `checkins` check-ins; None if it will hardly be known.

    The margin follows from public numbers alone, if half of the predictions are wrong and each
    report comes from another device.
    """
    terms, mechanism = task.terms, task.terms.mechanism()
    if mechanism.unit is Unit.CHECKIN:
        measured, predictions = round(terms.collection.evaluators * checkins), 1
    else:
        n = terms.collection.batch
        measured, predictions = checkins, int(terms.collection.heldout * n) or n
    if not measured:
        return None
    reports = np.arange(min(measured, MOST_REPORTS))
    each = measured / len(reports)
    rows = np.zeros((len(reports), 5))
    rows[:, 0], rows[:, 1] = reports * (checkins / len(reports)), reports
    rows[:, 2:] = predictions * each / 2, predictions * each, each
    found = current_error(rows, checkins, mechanism.error_variance, expected=True)
    return None if found is None or found.margin >= VAGUE_MARGIN else found.margin


def advice(task: Task) -> str | None:
    """Describe how well the error will be known in the end; None if it is not measured."""
    if not task.terms.mechanism().evaluates:
        return None
    margin = expected_margin(task, task.t_max)
    if margin is None:
        return say(
            "In the end the model’s error will hardly be known: too few predictions are counted."
        )
    return say(
        "In the end the model’s error will be known to within {margin}.", margin=_points(margin)
    )


def _points(margin: float) -> str:
    """Write the margin of an error, rounded up.

    >>> _points(0.132), _points(0.004)
    ('14 percentage points', '1 percentage point')
    """
    return say_count(math.ceil(100 * margin - 1e-9), "percentage point")


class Outlook(NamedTuple):
    """Hold the sentences for an owner while a task runs.

    Args:
        numbers: The current numbers of the task.
        end: The number of check-ins at which it ends.
        now: Seconds since 1970.
        invited: The number of devices that may still join with the invites made so far.
    """

    numbers: TaskNumbers
    end: int
    now: float
    invited: int = 0

    @classmethod
    def of(cls, numbers: TaskNumbers, invited: int) -> "Outlook":
        return cls(numbers, numbers.statistics.max_updates, time.time(), invited)

    @property
    def pace(self) -> str:
        """Describe when the task ends if it keeps last week's pace; empty if it has ended."""
        now = self.numbers.statistics
        if now.state is not State.RUNNING or not now.version:
            return ""
        recent = {m: n for m, n in self.numbers.history.by_minute.items() if m > self.now - WEEK}
        if not recent:
            return say("No check-in came in the last seven days.")
        rate = sum(recent.values()) / max(self.now - min(recent), 60.0)
        return _more((self.end - now.version) / rate)

    @property
    def title(self) -> str:
        """Return the heading of the sentences."""
        if self.numbers.statistics.state.final:
            return say("What stayed uncertain")
        if self.suggestions:
            return say("What is uncertain, and what would help")
        return say("What is uncertain")

    @property
    def sentences(self) -> list[str]:
        """List what is uncertain, and what would help."""
        return [*self._about_error(), *self._about_answers(), *self.suggestions]

    @property
    def suggestions(self) -> list[str]:
        """List what would help."""
        return [*self._help_with_error(), *self._help_with_devices()]

    def _about_error(self) -> Iterator[str]:
        task, now = self.numbers.task, self.numbers.statistics
        if not task.terms.mechanism().evaluates:
            yield say("The model’s error is not measured: in this task no check-in evaluates.")
            return
        if not now.version:
            yield advice(task) or ""
            return
        yield Performance(self.numbers).sentence

    def _help_with_error(self) -> Iterator[str]:
        task, now = self.numbers.task, self.numbers.statistics
        margin = now.error.margin if now.error and is_precise_enough(now.error) else 1.0
        if not task.terms.mechanism().evaluates or not now.version or margin <= CLEAR_MARGIN:
            return
        if now.state is State.EXHAUSTED:
            yield say(
                "If you reopen the task below, it takes {checkins} more.",
                checkins=say_count(task.t_max, "check-in"),
            )
        if now.state.final:
            return
        at_end = expected_margin(task, self.end)
        if at_end is not None and at_end < WORTHWHILE_RATIO * margin:
            wanted = max(CLEAR_MARGIN, at_end)
            needed = self._checkins_for(wanted)
            yield say(
                "After check-in {n}, the model’s error will be known to within {margin}.",
                n=needed,
                margin=_points(wanted),
            )
            return
        yield say("The model’s error will stay uncertain until the end.")
        if task.terms.kind.unit is Unit.CHECKIN:
            yield say(
                "In the next task, a larger ε or a larger share of check-ins that only send right "
                "or wrong would help."
            )
        else:
            yield say("In the next task, a larger ε or more samples in a check-in would help.")

    def _checkins_for(self, margin: float) -> int:
        """Return how many check-ins are needed until the error has this margin, up to the end."""
        version = self.numbers.statistics.version
        for checkins in np.geomspace(version + 1, self.end, 12).astype(int).tolist():
            expected = expected_margin(self.numbers.task, checkins)
            if checkins > version and expected is not None and expected <= margin:
                return int(checkins)
        return self.end

    def _about_answers(self) -> Iterator[str]:
        task, now = self.numbers.task, self.numbers.statistics
        if not task.terms.n_classes or not task.terms.mechanism().counts_labels or not now.version:
            return
        top = max(label_shares(task, now), key=lambda share: share.value, default=None)
        if top is None or not is_precise_enough(Estimate(top.value, top.margin)):
            yield (
                say(
                    "How often each answer was given stayed uncertain: there were too few "
                    "check-ins."
                )
                if now.state.final
                else say(
                    "How often each answer was given is still uncertain: it needs more check-ins."
                )
            )

    def _help_with_devices(self) -> Iterator[str]:
        task, now = self.numbers.task, self.numbers.statistics
        if not now.state.final and not now.devices:
            if task.enrolment.mode != "invite":
                yield say("Share the join page: people join there.")
            elif self.invited:
                yield say("Hand out the invite: people join with it.")
            else:
                yield say("Make an invite below: people join with it.")
        waiting = now.devices - now.active_devices
        if not now.state.final and waiting > now.active_devices:
            yield say(
                "{n} of {all} devices have joined and not checked in yet. Their people may need "
                "more time, or a reminder.",
                n=count(waiting),
                all=count(now.devices),
            )


def _more(seconds: float) -> str:
    """Write how much longer a task takes, in seconds, as a sentence.

    >>> _more(12 * 86400), _more(5400), _more(10), _more(1e12)  # doctest: +NORMALIZE_WHITESPACE
    ('About 12 more days at this pace.', 'About 90 more minutes at this pace.',
     'About 2 more minutes at this pace.', 'At this pace it will take more than five years.')
    """
    if seconds > NEVER_ENDS:
        return say("At this pace it will take more than five years.")
    if seconds < 2 * 3600:
        return say("About {n} more minutes at this pace.", n=max(2, round(seconds / 60)))
    if seconds < 2 * 86400:
        return say("About {n} more hours at this pace.", n=round(seconds / 3600))
    return say("About {n} more days at this pace.", n=round(seconds / 86400))

"""Describe in words what `crowdml task new --pilot` has found."""

from typing import Any, Literal

import msgspec

from crowdml.portal.words.expectation import PlannedCost
from crowdml.portal.words.language import say
from crowdml.portal.words.plain import epsilon as epsilon_words
from crowdml.portal.words.plain import percent
from crowdml.protocol import count_of

SENTENCES = {
    "improves": "{people} at ε = {epsilon} improve the pilot’s error from {before} to {after} "
    "({low} to {high}).",
    "unclear": "{people} at ε = {epsilon} may improve the pilot’s error from {before} to {after} "
    "({low} to {high}). The difference may be chance.",
    "nothing": "{people} at ε = {epsilon} add nothing to your pilot: its error is {before}, and "
    "theirs {after} ({low} to {high}). Ask many more, or do not ask.",
    "worsens": "{people} at ε = {epsilon} make the pilot’s error worse, from {before} to {after} "
    "({low} to {high}). Ask many more, or do not ask.",
}
"""A sentence for each effect of a crowd on the pilot's error."""


class PlannedEpsilon(msgspec.Struct, frozen=True):
    """Hold the expected error of a crowd at one ε."""

    epsilon: float
    error: float
    low: float
    high: float
    verdict: Literal["improves", "unclear", "nothing", "worsens"]


class PilotPlan(msgspec.Struct, frozen=True):
    """Hold what a crowd adds to a pilot: the part that the pages show."""

    recommended: PlannedEpsilon
    options: list[PlannedEpsilon]
    guess_error: float
    pilot_error: float
    devices: int
    costs: list[PlannedCost] = []

    @property
    def sentences(self) -> list[str]:
        best = self.recommended
        errors = ", ".join(
            say(
                "{error} at ε = {epsilon}",
                error=percent(each.error, 1),
                epsilon=epsilon_words(each.epsilon),
            )
            for each in self.options
        )
        return [
            say(
                "Recommended: ε = {epsilon}. Of those tried, it is the smallest whose error is "
                "at most one percentage point above the error of the largest ε.",
                epsilon=epsilon_words(best.epsilon),
            ),
            say(
                SENTENCES[best.verdict],
                people=say(count_of("person", self.devices)),
                epsilon=epsilon_words(best.epsilon),
                before=percent(self.pilot_error, 1),
                after=percent(best.error, 1),
                low=percent(best.low, 1),
                high=percent(best.high, 1),
            ),
            *(cost.words for cost in self.costs),
            say(
                "Guessing has {guess}. The same crowd has {errors}.",
                guess=percent(self.guess_error, 1),
                errors=errors,
            ),
            say("A small pilot does not show how different many people are."),
        ]


class TaskDraftView(msgspec.Struct, frozen=True):
    """Hold the JSON of `crowdml task new --pilot`: a task file, a start, and what was found."""

    task: str
    start: bytes
    findings: list[Any]
    plan: PilotPlan | None = None

"""Show how a random choice hides a whole check-in: the dial of directions, for any ε."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from crowdml.portal.pictures.drawing import Theme, dials
from crowdml.portal.words import plain as words
from crowdml.portal.words import say
from crowdml.privacy import Choice, Dial, SystemChance
from crowdml.types import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from matplotlib.projections.polar import PolarAxes

DRAWN_MESSAGES = 60
THINNEST = 0.03
"""The width of the thinnest visible arc, in radians."""


@dataclass(frozen=True)
class ChoiceHiding:
    """Hold k directions, ordered by somebody's data, and the rank of the direction that was sent.

    Place 1 is the direction closest to the data.
    """

    choice: Choice
    sent: int
    illustrates: bool = False

    @classmethod
    def of(cls, dial: Dial, sent: int = 0) -> "ChoiceHiding":
        """Draw the sent direction at random, unless `sent` names it."""
        (choice,) = dial
        return cls(choice, sent or choice.choose(np.arange(1, choice.k + 1), SystemChance()))

    def illustration(self) -> "ChoiceHiding":
        """Draw a direction that is likely for these data and unlikely for the opposite data."""
        ranks = min(self.choice.t, self.choice.k - self.choice.t)
        return replace(self, sent=1 + SystemChance().below(ranks), illustrates=True)

    @property
    def title(self) -> str:
        return say("How randomness changes what is sent")

    @property
    def about(self) -> str:
        return say(
            "Around the dial lie all {k} directions: on top those closest to a device’s data, at "
            "the bottom those that say the opposite. Chance picks one, most often from the bold "
            "arc. The needle shows one that was really drawn, the dots {draws} more. The right "
            "dial is a device with the opposite data: it could send the same direction too.",
            k=words.count(self.choice.k),
            draws=DRAWN_MESSAGES,
        )

    @property
    def again(self) -> str:
        """Return the text of the button that draws again."""
        return say("Draw another")

    @property
    def caption(self) -> str:
        choice = self.choice
        chosen = say("To show the difference, the needle’s direction was drawn from the bold arc.")
        return (f"{chosen} " if self.illustrates else "") + say(
            "At ε = {epsilon}, a device would send the needle’s direction: ordered by its data, it "
            "is number {sent} of {k}. How likely is that? With these data: {yours}; with the "
            "opposite data: {theirs}. For every direction it is from {unlikely} to {likely}, so "
            "someone with a fifty-fifty guess about everything in a check-in can become at most "
            "{sure} sure.",
            epsilon=words.epsilon(choice.epsilon),
            sent=words.count(self.sent),
            k=words.count(choice.k),
            yours=words.probability(self.probability_of(self.sent)),
            theirs=words.probability(self.probability_of(self._opposite(self.sent))),
            likely=words.probability(choice.likely),
            unlikely=words.probability(choice.unlikely),
            sure=words.certainty(choice.epsilon),
        )

    def probability_of(self, place: int) -> float:
        """Return the probability that the direction at this place is sent."""
        return self.choice.likely if place <= self.choice.t else self.choice.unlikely

    def _opposite(self, rank: int) -> int:
        """Return the rank that the same direction has for the opposite data."""
        return self.choice.k + 1 - rank

    def draw(self, theme: Theme) -> "Figure":
        here, there = self.probability_of(self.sent), self.probability_of(self._opposite(self.sent))
        titles = (
            say("these data: {chance}", chance=words.probability(here)),
            say("the opposite: {chance}", chance=words.probability(there)),
        )
        picture, (yours, theirs) = dials(theme, titles)
        self._dial(yours, 0.0, theme.accent, theme)
        self._dial(theirs, np.pi, theme.other, theme)
        return picture

    def _dial(self, axes: "PolarAxes", top: float, colour: str, theme: Theme) -> None:
        """Draw the likely directions as an arc around `top`, the needle, and more draws as dots."""
        choice, chance = self.choice, SystemChance()
        arc = max(2 * np.pi * choice.t / choice.k, THINNEST)
        axes.bar(0, 0.22, 2 * np.pi, bottom=0.78, color=colour, alpha=0.18)
        axes.bar(top, 0.22, arc, bottom=0.78, color=colour)
        order = np.arange(1, choice.k + 1)
        drawn = np.array([choice.choose(order, chance) for _ in range(DRAWN_MESSAGES)])
        radius = 1.07 + 0.14 * np.linspace(0, 1, DRAWN_MESSAGES)
        axes.plot(top + self._angle(drawn), radius, ".", color=colour, markersize=3)
        needle = float(self._angle(np.array([self.sent]))[0])
        axes.plot([needle, needle], [0, 1.0], color=theme.text, linewidth=2.4)
        axes.plot([0], [0], "o", color=theme.text, markersize=6)

    def _angle(self, ranks: Array) -> Array:
        """Return the angle of a rank: from the top down, on both sides in turn."""
        side = np.where(ranks % 2 == 0, -1.0, 1.0)
        angles: Array = side * np.pi * (ranks - 0.5) / self.choice.k
        return angles

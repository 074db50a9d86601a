"""How a choice hides everything at once: two steps, for any ε."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from crowdml.portal import words
from crowdml.portal.drawing import Theme, figure, head, tidy
from crowdml.privacy import Choice, DirectionMechanism, SystemChance, best_closest

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["ChoiceHiding"]

DRAWS = 60


@dataclass(frozen=True)
class ChoiceHiding:
    """The k directions in the order of someone's data, and how likely each is to be sent."""

    choice: Choice

    title = "How chance hides all of it"
    about = (
        "Your data put the directions into an order, the closest first, and chance picks one. One "
        "outline shows how likely each is with your data, the other with data that say the very "
        "opposite. Each of them may be picked either way. The ticks are real draws."
    )
    alt = "Two steps: how likely each direction is to be sent, with your data and with the opposite"

    @classmethod
    def of(cls, mechanism: DirectionMechanism, epsilon: float) -> "ChoiceHiding":
        k = mechanism.directions
        own = epsilon == mechanism.epsilon
        return cls(Choice(k, mechanism.closest if own else best_closest(k, epsilon), epsilon))

    @property
    def caption(self) -> str:
        choice = self.choice
        each = "the closest" if choice.t == 1 else f"each of the {words.count(choice.t)} closest"
        return (
            f"At ε = {words.epsilon(choice.epsilon)} {each} of {words.count(choice.k)} directions "
            f"is sent with a chance of {words.chance(choice.likely)}, each of the others with "
            f"{words.chance(choice.unlikely)}, whatever the data are. So someone with a "
            f"fifty-fifty guess about everything in a check-in can become at most "
            f"{words.certainty(choice.epsilon)} sure."
        )

    def draw(self, theme: Theme) -> "Figure":
        """What may be sent with some data and with their opposite, and real draws."""
        picture, axes = figure(theme, height=2.8)
        choice, chance, places = self.choice, SystemChance(), np.arange(1, self.choice.k + 1)
        law = np.where(places <= choice.t, choice.likely, choice.unlikely)
        sides = [
            (places, theme.accent, "with your data"),
            (places[::-1], theme.other, "with the opposite data"),
        ]
        for row, (order, colour, name) in enumerate(sides):
            by_place = law[order - 1]
            axes.step(places, by_place, where="mid", color=colour, label=name)
            axes.fill_between(places, by_place, step="mid", color=colour, alpha=0.12, linewidth=0)
            sent = [choice.tell(order, chance) for _ in range(DRAWS)]
            below = np.full(DRAWS, -(0.08 + 0.09 * row) * choice.likely)
            axes.plot(sent, below, "|", color=colour, markersize=7)
        axes.set_xlim(1 - 0.02 * choice.k, 1.02 * choice.k)
        axes.set_ylim(-0.24 * choice.likely, 1.32 * choice.likely)
        axes.set_yticks(heights := self._heights, [words.chance(height) for height in heights])
        axes.set_ylabel("how likely each is")
        axes.set_xlabel("directions, in the order of your data")
        axes.legend(loc="upper center", ncols=2, frameon=False, labelcolor=theme.text)
        head(picture, self._says, theme)
        return tidy(picture, axes)

    @property
    def _heights(self) -> list[float]:
        """Both probabilities, or one if they would be written over each other."""
        both = [self.choice.unlikely, self.choice.likely]
        return both if both[0] < 0.85 * both[1] else both[1:]

    @property
    def _says(self) -> str:
        t = self.choice.t
        closest = "the closest one" if t == 1 else f"one of the {words.count(t)} closest"
        return (
            f"ε = {words.epsilon(self.choice.epsilon)}: {closest} with "
            f"{words.percent(self.choice.p)}, at most {words.certainty(self.choice.epsilon)} sure"
        )

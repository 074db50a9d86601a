"""Show how noise hides one sample: two hills, for any ε and b."""

import math
from dataclasses import dataclass
from textwrap import fill
from typing import TYPE_CHECKING

import numpy as np

from crowdml.portal.pictures.drawing import Theme, figure, in_decimals, tidy
from crowdml.portal.words import plain as words
from crowdml.portal.words import say
from crowdml.privacy import ExactNoise, Hills
from crowdml.types import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DRAWN_MESSAGES = 60
WIDEST_TITLE = 52
"""The most letters on one line of the title."""


@dataclass(frozen=True)
class NoiseHiding:
    """Show the effect of noise on one number of the average of n gradients, in the worst case."""

    hills: Hills

    again, sent = "", 0
    """This picture has no button to draw again, and shows no single value as sent."""

    def illustration(self) -> "NoiseHiding":
        return self

    @property
    def title(self) -> str:
        return say("How noise changes what is sent")

    @property
    def about(self) -> str:
        return say(
            "Each hill shows which values may be sent: one hill with your sample, the other with "
            "another sample in its place. The more they overlap, the less a message reveals. The "
            "ticks are values drawn at random."
        )

    @property
    def stddev(self) -> float:
        return math.sqrt(self.hills.law.variance(self.hills.scale)) * self.hills.step

    @property
    def caption(self) -> str:
        hills = self.hills
        return say(
            "At ε = {epsilon} and {samples}, in the worst case: one sample moves one number of "
            "what is sent by {shift}, and the noise on that number has a standard deviation of "
            "{stddev}. Someone with a fifty-fifty guess about the sample can become at most {sure} "
            "sure{but}, from everything the device sends about it.",
            epsilon=words.epsilon(hills.loss.total),
            samples=words.say_count(hills.batch, "sample"),
            shift=words.number(hills.shift, 2),
            stddev=words.number(self.stddev, 2),
            sure=words.certainty(hills.loss.bound),
            but=words.except_with(hills.excess_probability),
        )

    def draw(self, theme: Theme) -> "Figure":
        """Draw what may be sent for two minibatches that differ in one sample, and real draws."""
        picture, axes = figure(theme, height=2.8)
        hills = self.hills
        scale, half = hills.scale * hills.step, hills.shift / 2
        reach = 3.2 * scale + hills.shift
        grid = np.sort([*np.linspace(-reach, reach, 80), -half, half])
        sides = [
            (-half, theme.other, say("another sample")),
            (half, theme.accent, say("your sample")),
        ]
        for row, (truth, colour, name) in enumerate(sides):
            law = hills.law.outline((grid - truth) / scale)
            axes.plot(grid, law, color=colour, label=name)
            axes.fill_between(grid, law, color=colour, alpha=0.12, linewidth=0)
            axes.vlines(truth, 0, 1, color=colour, linewidth=1, linestyle=":")
            below = np.full(DRAWN_MESSAGES, -0.07 - 0.08 * row)
            axes.plot(self._drawn(truth), below, "|", color=colour, markersize=7)
        axes.set_xlim(-reach, reach)
        axes.set_ylim(-0.22, 1.08)
        axes.set_yticks([])
        axes.set_ylabel(say("how likely"))
        axes.set_xlabel(say("one number of what is sent"))
        in_decimals(axes.xaxis)
        # Above the axes, where it covers no curve.
        axes.legend(
            loc="lower left",
            bbox_to_anchor=(0, 1),
            ncols=2,
            frameon=False,
            labelcolor=theme.text,
            fontsize=12,
            borderaxespad=0.2,
        )
        title = say(
            "At most {sure} sure which of the two it was{but}",
            sure=words.certainty(hills.loss.bound),
            but=words.except_with(hills.excess_probability),
        )
        # Aligned with the left edge and on two lines if needed, so that a long title fits.
        picture.suptitle(
            fill(title, WIDEST_TITLE), x=0.01, ha="left", fontsize=12, color=theme.text
        )
        return tidy(picture, axes)

    def _drawn(self, truth: float) -> Array:
        law, step = self.hills.law, self.hills.step
        steps = np.full(DRAWN_MESSAGES, round(truth / step), dtype=np.int64)
        noisy = law.add(steps, self.hills.sensitivity, self.hills.level, ExactNoise())
        return noisy.astype(np.float64) * step

"""How noise hides one sample: two hills, for any ε and b."""

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from crowdml.portal import words
from crowdml.portal.drawing import Theme, figure, head, tidy
from crowdml.portal.language import say
from crowdml.privacy import ExactNoise, Levels, Loss, NoiseMechanism, rho_of
from crowdml.types import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["NoiseHiding"]

DRAWS = 60


@dataclass(frozen=True)
class NoiseHiding:
    """What noise does to one number of the average of n gradients, in the worst case.

    Args:
        mechanism: The task's own, at the wanted ε.
        epsilon: ε of a sample in all.
        batch: Samples in the check-in.
    """

    mechanism: NoiseMechanism
    epsilon: float
    batch: int

    again, sent = "", 0

    @classmethod
    def of(cls, mechanism: NoiseMechanism, epsilon: float, batch: int) -> "NoiseHiding":
        """The shares of ε stay as they are."""
        factor = _factor(mechanism.event(batch).loss, epsilon)
        levels = Levels(*(level * factor for level in mechanism.levels))
        return cls(replace(mechanism, levels=levels), epsilon, batch)

    @property
    def title(self) -> str:
        return say("How noise changes what is sent")

    @property
    def about(self) -> str:
        return say(
            "Each hill shows which values may be sent: one with your sample, one with another in "
            "its place. The more they overlap, the less a message tells. The ticks are real draws."
        )

    @property
    def n(self) -> int:
        """Samples behind the average."""
        return self.batch - self.mechanism.n_heldout(self.batch)

    @property
    def shift(self) -> float:
        """How far one replaced sample can move the number."""
        return 2 * self.mechanism.clip / self.n

    @property
    def _step(self) -> float:
        return 2.0 ** self.mechanism.grid(self.n)

    @property
    def _steps(self) -> float:
        """The scale of the noise, in steps."""
        release = self.mechanism.event(self.batch).releases[0]
        return release.sensitivity / self.mechanism.law.strength(release.level)

    @property
    def stddev(self) -> float:
        return math.sqrt(self.mechanism.law.variance(self._steps)) * self._step

    @property
    def caption(self) -> str:
        but = words.but_for(self.mechanism.delta)
        return say(
            "At ε = {epsilon} and {samples}, in the worst case: one sample moves a number of the "
            "gradient by {shift}, and the noise has a standard deviation of {stddev}. Someone with "
            "a fifty-fifty guess about the sample can become at most {sure} sure{but}, from "
            "everything the device sends about it.",
            epsilon=words.epsilon(self.epsilon),
            samples=words.counted(self.batch, "sample"),
            shift=words.local(f"{self.shift:.2g}"),
            stddev=words.local(f"{self.stddev:.2g}"),
            sure=words.certainty(self.epsilon),
            but=but,
        )

    def draw(self, theme: Theme) -> "Figure":
        """Two minibatches that differ in one sample: what may be sent for each, and real draws."""
        picture, axes = figure(theme, height=2.8)
        scale, half = self._steps * self._step, self.shift / 2
        reach = 3.2 * scale + self.shift
        grid = np.sort([*np.linspace(-reach, reach, 80), -half, half])
        sides = [
            (-half, theme.other, say("another sample")),
            (half, theme.accent, say("your sample")),
        ]
        for row, (truth, colour, name) in enumerate(sides):
            law = self._law((grid - truth) / scale)
            axes.plot(grid, law, color=colour, label=name)
            axes.fill_between(grid, law, color=colour, alpha=0.12, linewidth=0)
            axes.axvline(truth, ymin=0.145, ymax=0.8, color=colour, linewidth=1, linestyle=":")
            below = np.full(DRAWS, -0.07 - 0.08 * row)
            axes.plot(self._drawn(truth), below, "|", color=colour, markersize=7)
        axes.set_xlim(-reach, reach)
        axes.set_ylim(-0.22, 1.3)
        axes.set_yticks([])
        axes.set_ylabel(say("how likely"))
        axes.set_xlabel(say("one number of what is sent"))
        axes.legend(loc="upper center", ncols=2, frameon=False, labelcolor=theme.text, fontsize=12)
        head(
            picture,
            say(
                "At most {sure} sure which of the two it was",
                sure=words.certainty(self.epsilon),
            ),
            theme,
        )
        return tidy(picture, axes)

    def _law(self, z: Array) -> Array:
        """The outline of a hill, at multiples of the scale."""
        height: Array = np.exp(-np.abs(z) if self.mechanism.law.name == "laplace" else -z * z / 2)
        return height

    def _drawn(self, truth: float) -> Array:
        release = self.mechanism.event(self.batch).releases[0]
        steps = np.full(DRAWS, round(truth / self._step), dtype=np.int64)
        law = self.mechanism.law
        noisy = law.add(steps, release.sensitivity, release.level, ExactNoise())
        return noisy.astype(np.float64) * self._step


def _factor(loss: Loss, epsilon: float) -> float:
    """How much larger levels may be at this ε."""
    return rho_of(epsilon, loss.delta) / loss.rho if loss.rho else epsilon / loss.epsilon

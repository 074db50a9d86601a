"""How noise hides one sample: the mechanism of a task, drawn for any ε and b."""

import math
from typing import TYPE_CHECKING, NamedTuple

import msgspec
import numpy as np

from crowdml.errors import CrowdmlError
from crowdml.portal import words
from crowdml.portal.drawing import Theme, figure, tidy
from crowdml.privacy import ExactNoise, GradientNoise, Sanitizer, gradient_noise
from crowdml.protocol import Terms, rejected

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Hiding", "draw_hiding", "hiding"]

DRAWS = 60


class Hiding(NamedTuple):
    """What the mechanism does to one number of the average of n gradients, in the worst case.

    Args:
        epsilon: ε of a sample in all.
        n: Samples behind the average.
        shift: How far one replaced sample can move the number.
        noise: The noise on it.
    """

    epsilon: float
    n: int
    shift: float
    noise: GradientNoise


def hiding(terms: Terms, epsilon: float, batch: int) -> Hiding:
    """The task's own mechanism, with another ε and b; shares of ε stay as they are."""
    levels = terms.privacy
    if math.isinf(float(levels.epsilon)):
        share = {"epsilon_g": 0.9, "epsilon_e": 0.05, "epsilon_y": 0.05 * (terms.n_classes > 0)}
    else:
        names = ("epsilon_g", "epsilon_e", "epsilon_y")
        share = {name: float(getattr(levels, name)) / float(levels.epsilon) for name in names}
    try:
        wanted = msgspec.structs.replace(
            levels, epsilon=epsilon, **{name: part * epsilon for name, part in share.items()}
        )
        sanitizer: Sanitizer = msgspec.structs.replace(terms, privacy=wanted).sanitizer()
        n = batch - terms.collection.n_heldout(batch)
        noise = gradient_noise(sanitizer, n)
    except (CrowdmlError, ZeroDivisionError) as error:
        raise rejected("invalid-parameter", f"no noise can be drawn for this: {error}") from error
    return Hiding(epsilon, n, 2 * sanitizer.clip / n, noise)


def draw_hiding(how: Hiding, theme: Theme) -> "Figure":
    """Two minibatches that differ in one sample: what may be sent for each, and real draws."""
    picture, axes = figure(theme, height=2.8)
    scale, step = how.noise.scale, how.noise.step
    reach = 3.2 * scale + how.shift
    grid = np.linspace(-reach, reach, 801)
    half = how.shift / 2
    sides = [(-half, theme.other, "without your sample"), (half, theme.accent, "with your sample")]
    for row, (truth, colour, name) in enumerate(sides):
        law = np.exp(-np.abs(grid - truth) / scale)
        axes.plot(grid, law, color=colour, label=name)
        axes.fill_between(grid, law, color=colour, alpha=0.12, linewidth=0)
        axes.axvline(truth, ymin=0.14, color=colour, linewidth=1, linestyle=":")
        steps = np.full(DRAWS, round(truth / step), dtype=np.int64)
        sent = ExactNoise().add_laplace(steps, scale / step) * step
        axes.plot(sent, np.full(DRAWS, -0.07 - 0.08 * row), "|", color=colour, markersize=7)
    axes.set_xlim(-reach, reach)
    axes.set_ylim(-0.22, 1.05)
    axes.set_yticks([])
    axes.set_ylabel("how likely")
    axes.set_xlabel(f"one number of what is sent (true values differ by {how.shift:.2g})")
    axes.legend(loc="upper right", frameon=False, labelcolor=theme.text)
    axes.set_title(
        f"ε = {words.epsilon(how.epsilon)}, {how.n} samples: noise ± {how.noise.stddev:.2g}, "
        f"at most {words.certainty(how.epsilon)} sure",
        fontsize=10,
        loc="left",
    )
    return tidy(picture, axes)

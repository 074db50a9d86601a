"""How noise hides one sample: the mechanism of a task, drawn for any ε and b."""

import math
from typing import TYPE_CHECKING, NamedTuple

import msgspec
import numpy as np

from crowdml.errors import CrowdmlError
from crowdml.portal import words
from crowdml.portal.drawing import Theme, figure, tidy
from crowdml.privacy import ExactNoise, Sanitizer, laplace_scale, laplace_variance
from crowdml.protocol import Terms, rejected

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Hiding", "draw_hiding", "hiding"]

DRAWS = 60


class Hiding(NamedTuple):
    """What the mechanism does to one number of the average of n gradients, in the worst case.

    Args:
        epsilon: ε of a sample in all.
        epsilon_g: The part of it that the gradient takes.
        n: Samples behind the average.
        shift: How far one replaced sample can move the number.
        scale: The scale of the noise on it.
        step: The width of a step: what is sent is a whole number of them.
        noise_stddev: The standard deviation of the noise.
    """

    epsilon: float
    epsilon_g: float
    n: int
    shift: float
    scale: float
    step: float
    noise_stddev: float


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
        release = sanitizer.event(n, 0).releases[0]
    except (CrowdmlError, ZeroDivisionError) as error:
        raise rejected("invalid-parameter", f"no noise can be drawn for this: {error}") from error
    step = 2.0 ** sanitizer.grid(n)
    scale = laplace_scale(release.sensitivity, release.epsilon)
    return Hiding(
        epsilon=epsilon,
        epsilon_g=release.epsilon,
        n=n,
        shift=2 * sanitizer.clip / n,
        scale=scale * step,
        step=step,
        noise_stddev=math.sqrt(laplace_variance(scale)) * step,
    )


def draw_hiding(how: Hiding, theme: Theme) -> "Figure":
    """Two minibatches that differ in one sample: what may be sent for each, and real draws."""
    picture, axes = figure(theme, height=2.8)
    reach = 3.2 * how.scale + how.shift
    grid = np.linspace(-reach, reach, 801)
    half = how.shift / 2
    sides = [(-half, theme.other, "without your sample"), (half, theme.accent, "with your sample")]
    for row, (truth, colour, name) in enumerate(sides):
        law = np.exp(-np.abs(grid - truth) / how.scale)
        axes.plot(grid, law, color=colour, label=name)
        axes.fill_between(grid, law, color=colour, alpha=0.12, linewidth=0)
        axes.axvline(truth, ymin=0.14, color=colour, linewidth=1, linestyle=":")
        steps = np.full(DRAWS, round(truth / how.step), dtype=np.int64)
        sent = ExactNoise().add_laplace(steps, how.scale / how.step) * how.step
        axes.plot(sent, np.full(DRAWS, -0.07 - 0.08 * row), "|", color=colour, markersize=7)
    axes.set_xlim(-reach, reach)
    axes.set_ylim(-0.22, 1.05)
    axes.set_yticks([])
    axes.set_ylabel("how likely")
    axes.set_xlabel(f"one number of what is sent (true values differ by {how.shift:.2g})")
    axes.legend(loc="upper right", frameon=False, labelcolor=theme.text)
    axes.set_title(
        f"ε = {words.epsilon(how.epsilon)}, {how.n} samples: noise ± {how.noise_stddev:.2g}, "
        f"at most {words.certainty(how.epsilon)} sure",
        fontsize=10,
        loc="left",
    )
    return tidy(picture, axes)

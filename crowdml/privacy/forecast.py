"""How much noise there will be, before anything has been sent."""

import math
from typing import NamedTuple

from crowdml.privacy.noise import laplace_scale, laplace_variance
from crowdml.privacy.sanitizer import Sanitizer

__all__ = ["Forecast", "GradientNoise", "forecast", "gradient_noise", "noise_to_signal"]

DROWNED = 0.3
"""Above this ratio after all check-ins a model was seen to stay poor, below it to become good."""


class GradientNoise(NamedTuple):
    """The noise on each number of an average gradient.

    Args:
        step: The width of a step: what is sent is a whole number of them.
        scale: The scale of the noise, in the units of the gradient.
        stddev: Its standard deviation.
    """

    step: float
    scale: float
    stddev: float


def gradient_noise(sanitizer: Sanitizer, n_training: int) -> GradientNoise:
    release = sanitizer.event(n_training, 0).releases[0]
    step = 2.0 ** sanitizer.grid(n_training)
    scale = laplace_scale(release.sensitivity, release.epsilon)
    return GradientNoise(step, scale * step, math.sqrt(laplace_variance(scale)) * step)


class Forecast(NamedTuple):
    """What to expect of many private check-ins.

    Args:
        n_training: n, the samples behind the average gradient of a check-in.
        noise_stddev: The standard deviation of the noise on each number of a check-in.
        once: Noise over signal in one check-in.
        checkins: T, the check-ins after which the task ends.
        after_all: Noise over signal after T check-ins.
        needed: Check-ins after which the noise is small enough.
    """

    n_training: int
    noise_stddev: float
    once: float
    checkins: int
    after_all: float
    needed: int

    @property
    def drowned(self) -> bool:
        return self.after_all >= DROWNED


def noise_to_signal(d: int, n: int, epsilon_g: float) -> float:
    """√(2d)·2/(n·ε_g): the noise of a check-in over the largest possible gradient, S, in L2.

    Each of the d numbers gets Laplace noise of scale 2S/(n·ε_g), whose standard deviation is √2
    times that. Paper: Eq. (10), Theorem 1.

    >>> round(noise_to_signal(d=99, n=52, epsilon_g=0.9), 3)
    0.601
    """
    return math.sqrt(2 * d) * 2 / (n * epsilon_g)


def forecast(
    sanitizer: Sanitizer, n_training: int, n_classes: int, checkins: int
) -> Forecast | None:
    """None where there is no noise.

    Averaging T check-ins divides the noise by √T; C classes share the signal.
    """
    epsilon_g = sanitizer.epsilon.gradient
    if math.isinf(epsilon_g):
        return None
    once = noise_to_signal(sanitizer.size, n_training, epsilon_g)
    shared = once * max(n_classes, 1)
    return Forecast(
        n_training=n_training,
        noise_stddev=gradient_noise(sanitizer, n_training).stddev,
        once=once,
        checkins=checkins,
        after_all=shared / math.sqrt(checkins),
        needed=max(1, math.ceil((shared / DROWNED) ** 2)),
    )

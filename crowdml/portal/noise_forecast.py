"""How much noise a task will have, before anyone has joined it."""

import math
from typing import NamedTuple

from crowdml.privacy import laplace_scale, laplace_variance
from crowdml.protocol import Task

__all__ = ["Forecast", "forecast", "noise_to_signal"]

DROWNED = 0.3
"""Above this ratio after all check-ins a model was seen to stay poor, below it to become good."""


class Forecast(NamedTuple):
    """What to expect of a private task.

    Args:
        averaged: n, the samples behind the average gradient of a check-in.
        noise_stddev: The standard deviation of the noise on each number of a check-in.
        once: Noise over signal in one check-in.
        checkins: T, the check-ins after which the task ends.
        after_all: Noise over signal after T check-ins.
        needed: Check-ins after which the noise is small enough.
        samples: The samples behind the needed ones, over all devices.
    """

    averaged: int
    noise_stddev: float
    once: float
    checkins: int
    after_all: float
    needed: int
    samples: int

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


def forecast(task: Task) -> Forecast | None:
    """None for a task without noise.

    Averaging T check-ins divides the noise by √T; C classes share the signal.
    """
    terms = task.terms
    if not terms.private:
        return None
    batch = terms.collection.batch
    n = batch - terms.collection.n_heldout(batch)
    sanitizer = terms.sanitizer()
    release = sanitizer.event(n, batch - n).releases[0]
    variance = laplace_variance(laplace_scale(release.sensitivity, release.epsilon))
    once = noise_to_signal(sanitizer.size, n, release.epsilon)
    shared = once * max(terms.n_classes, 1)
    needed = max(1, math.ceil((shared / DROWNED) ** 2))
    return Forecast(
        averaged=n,
        noise_stddev=math.sqrt(variance) * 2.0 ** sanitizer.grid(n),
        once=once,
        checkins=task.stop.updates,
        after_all=shared / math.sqrt(task.stop.updates),
        needed=needed,
        samples=needed * batch,
    )

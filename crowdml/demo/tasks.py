"""The two tasks of the demo, as task files.

Rates, clips and minibatches were chosen by cross-validation over the people who take part, never
on the people that the error is reported for.
"""

import math

from crowdml.protocol import Task

__all__ = ["demo_task", "expectation"]

ACTIVITY = """
name = "activity"
title = "What is the owner of this phone doing?"
objective = "Tell sitting and standing, walking and jogging apart from a phone's movement."
sensors = "Accelerometer, 20 readings a second, in windows of 3.2 seconds."

[features]
count = 33
description = "Spectrum of the acceleration's magnitude: 33 bins of a 64-point Fourier transform, \
bin 0 (gravity) weighted by 0.1, divided by the sum of absolute values."

[features.sensor]
kind = "motion"
first_bin = 0.1

[target]
labels = ["Still", "Walking", "Jogging"]

[model]
kind = "softmax"
clip = 0.2

[privacy]
epsilon = {epsilon}

[collection]
batch = {batch}
buffer = {buffer}

[optimizer]
kind = "adagrad"
c = 3.0
averaging = 8

[stop]
updates = {updates}

[enrolment]
checkins_per_minute = 6000
"""

DIGITS = """
name = "digits"
title = "Which digit is this?"
objective = "Read handwritten digits of 8 by 8 pixels."
sensors = "Pictures of single digits."

[features]
count = 64
description = "Pixels, divided by their sum."

[target]
labels = ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"]

[model]
kind = "softmax"
clip = {clip}
radius = 10000

[privacy]
epsilon = {epsilon}

[collection]
batch = {batch}
buffer = {buffer}

[optimizer]
rate = "constant"
c = {c}
averaging = 3

[stop]
updates = {updates}

[enrolment]
checkins_per_minute = 6000
"""


def demo_task(name: str, epsilon: float, hand_sizes: list[int]) -> Task:
    """The task, with a minibatch that every device can fill from its own samples."""
    smallest = min(hand_sizes)
    if name == "activity":
        batch = min(52, smallest)
        fields = {}
    elif math.isinf(epsilon):
        batch = 1
        fields = {"clip": 2.0, "c": 100.0}
    else:
        batch = min(14, smallest)
        fields = {"clip": 0.05, "c": min(4000.0, 400.0 * epsilon)}
    template = ACTIVITY if name == "activity" else DIGITS
    return Task.from_toml(
        template.format(
            epsilon="inf" if math.isinf(epsilon) else epsilon,
            batch=batch,
            buffer=10 * batch,
            updates=sum(size // batch for size in hand_sizes),
            **fields,
        )
    )


def expectation(task: Task, n_train: int) -> str | None:
    """A warning where noise will drown the lesson, with the numbers that say so."""
    expected = task.forecast()
    if expected is None or not expected.drowned:
        return None
    return (
        f"Expect a poor model: {n_train:,} samples used once make {expected.checkins} check-ins of "
        f"{task.terms.collection.batch}, and at ε = {task.terms.epsilon_per_sample:g} the noise on "
        f"{task.terms.make_model().size} parameters is about {expected.once:.2g} times the largest "
        f"possible gradient in each of them. More samples per device, a larger ε or fewer "
        f"parameters would help; more passes would multiply ε."
    )

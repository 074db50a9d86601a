"""Define the two tasks of the demo, as task files."""

import math

from crowdml.protocol import MECHANISMS, Start, Task

COMMON_FIELDS = """
owner = "The demo, on this machine"
contact = "no one: recordings take part, not people"
purpose = "To show how a crowd learns."
"""

ACTIVITY = """
name = "activity"
title = "What is the owner of this phone doing?"
objective = "Tell sitting and standing, walking and jogging apart from a phone's movement."
sensors = "Accelerometer, 20 readings a second, in windows of 3.2 seconds."

[features]
count = 12
description = "Spectrum of the acceleration's magnitude below 3.5 Hz, where steps are: 12 of a \
64-point Fourier transform's bins, bin 0 (gravity) weighted by 0.1, scaled down to length 1."

[features.sensor]
kind = "motion"
first_bin = 0.1

[target]
labels = ["Still", "Walking", "Jogging"]
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
"""

LEARNING_FIELDS = """
[model]
kind = "softmax"
{model}

[privacy]
mechanism = "{mechanism}"
epsilon = {epsilon}

[collection]
batch = {batch}

[optimizer]
{optimizer}

[stop]
updates = {updates}

[enrolment]
checkins_per_minute = 6000
"""

TUNED_BY_HAND = {
    ("laplace", "activity"): ("clip = 0.2", 'kind = "adagrad"\nc = 3.0\naveraging = 8'),
    ("laplace", "digits"): (
        "clip = 0.05\nradius = 10000",
        'rate = "constant"\nc = {c}\naveraging = 3',
    ),
}
"""What the paper's mechanism needs: chosen by cross-validation over the people who take part,
never on the people that the error is reported for. The others need nothing."""


PILOT_FIELDS = """start = "{name}.start.npz"
pilot = "their recordings are public"
"""


def demo_task(
    name: str,
    mechanism: str,
    epsilon: float,
    samples_per_device: list[int],
    start: Start | None = None,
) -> Task:
    """Make the task, with a minibatch that every device can fill from its own samples.

    With a start, the rate is planned for every mechanism: the rates chosen by hand are for a start
    at zero.
    """
    batch = min(52 if name == "activity" else 14, *samples_per_device)
    model = optimizer = ""
    if start is not None:
        model = PILOT_FIELDS.format(name=name)
    elif (mechanism, name) in TUNED_BY_HAND and math.isfinite(epsilon):
        model, optimizer = TUNED_BY_HAND[mechanism, name]
        optimizer = optimizer.format(c=min(4000.0, 400.0 * epsilon))
    limited = "collection.checkins" in MECHANISMS[mechanism].options
    checkins = [1 if limited else size // batch for size in samples_per_device]
    how = LEARNING_FIELDS.format(
        model=model,
        mechanism=mechanism,
        epsilon="inf" if math.isinf(epsilon) else epsilon,
        batch=batch,
        optimizer=optimizer,
        updates=sum(checkins),
    )
    text = COMMON_FIELDS + {"activity": ACTIVITY, "digits": DIGITS}[name] + how
    return Task.from_toml(text, start=start)

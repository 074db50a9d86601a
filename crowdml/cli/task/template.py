"""Offer a task file to start from, and find the template's sentences in a finished one."""

import re
from collections.abc import Iterator
from functools import partial

from crowdml.errors import Mistake
from crowdml.phrase import Phrase
from crowdml.protocol import PILOT_WORDS, TASK_HEAD, FieldRule

TASK_TEMPLATE = (
    TASK_HEAD.replace("{title}", '"What is this device doing?"')
    + """
[features]                  # x: the numbers that the device computes from its sensors
count = 33
description = "Say how they are computed."
# sensor = {{kind = "motion", first_bin = 0.1}}  # without this, phones cannot take part

[target]                    # y: two or more labels; leave labels out to predict a number
labels = ["Still", "Walking", "Jogging"]

[model]
kind = "softmax"            # softmax, hinge; for numbers: ridge, huber
# regularization = 0.0      # lambda
# radius = 1000.0           # R: bound on the parameters
# intercept = false

[privacy]
epsilon = 4.0               # the most that a person loses, over all check-ins
# mechanism = "direction"   # protects whole people; gaussian and laplace protect samples

[collection]
batch = 50                  # b: a device checks in when it has this many samples
# checkins = 1              # K: the most check-ins of a device, which share epsilon
# evaluators = 0.15         # the share of check-ins that only send whether the model was right
# counters = 0.05           # the share of check-ins that only send one label

[stop]
updates = 1000              # how many check-ins you expect, within a factor of four
# error = 0.1               # end earlier when the error is almost surely below this

[enrolment]
mode = "open"               # or "invite"
# max_staleness = 1000      # reject check-ins whose model is older than this many check-ins
"""
)


def own_words_rules() -> Iterator[FieldRule]:
    """Reject a task file that still has the template's sentences, which participants would read."""
    template = (*re.findall(r'"(Say [^"]+)"', TASK_TEMPLATE), PILOT_WORDS)

    def check(field: str, sentence: str) -> Iterator[Mistake]:
        if sentence.startswith(template):
            rule = Phrase("must be your own words")
            found = Phrase("the template's {sentence}", sentence=f"{sentence!r}")
            remedy = Phrase("Participants read it before they agree.")
            yield Mistake(field, rule, found, remedy)

    sentences = ("objective", "owner", "contact", "purpose", "sensors")
    for field in (*sentences, "features.description", "model.pilot"):
        yield FieldRule((field,), partial(check, field))

"""The fields of the form that creates a task, as data: what a task file has, in its order."""

from typing import NamedTuple

from crowdml.portal import words
from crowdml.portal.owner.field import Field

__all__ = ["DEFAULTS", "FIELDS", "GROUPS", "Group"]


class Group(NamedTuple):
    """Fields under one heading; those for experts are folded away."""

    title: str
    fields: tuple[Field, ...]
    more: str = ""
    expert: tuple[Field, ...] = ()


TRANSFORMS = {
    "spectrum": "first bins of the window’s Fourier transform, summing to 1",
    "amplitudes": "first bins of the Fourier transform, divided by the scale",
    "summary": "mean, standard deviation, smallest, largest",
    "values": "the numbers typed in (manual only)",
}
TRIGGERS = {"always": "at every turn", "label-change": "only when the label has changed"}
MODES = {"open": "anyone", "invite": "only with a code from you"}

GROUPS = [
    Group(
        "What is learnt",
        (
            Field("name", "Name", "Lower-case letters, digits and hyphens; part of addresses."),
            Field("title", "Title", "One line for people."),
            Field("objective", "Objective", "What is learnt and what for, in plain words."),
            Field(
                "sensors", "Sensor data", "Which sensors are read and how often, in plain words."
            ),
        ),
    ),
    Group(
        "Features: the numbers a device computes",
        (
            Field("features.count", "How many numbers", "D, 1 … 100,000.", "33"),
            Field(
                "features.description",
                "How they are computed",
                "Constants must be fixed or come from public data.",
            ),
        ),
        "Let browsers compute them from a sensor",
        (
            Field(
                "features.sensor.kind",
                "Sensor",
                "With a sensor, phones can take part in a browser.",
                names=words.SENSORS,
                none="none: devices bring their own samples",
            ),
            Field(
                "features.sensor.transform",
                "From readings to features",
                "A spectrum makes up to as many numbers as the window has readings, a summary 4.",
                names=TRANSFORMS,
            ),
            Field("features.sensor.rate", "Readings a second"),
            Field("features.sensor.window", "Readings in a window"),
            Field(
                "features.sensor.first_bin",
                "Weight of bin 0",
                "0 … 1; for motion this bin is mostly gravity.",
            ),
            Field("features.sensor.scale", "Fixed divisor", "Not for spectra."),
            Field("features.sensor.every", "Seconds between samples", "At least."),
            Field(
                "features.sensor.trigger",
                "When to take a sample",
                "With label-change, the time of a sample depends on the labels.",
                names=TRIGGERS,
            ),
            Field(
                "features.sensor.fields",
                "Numbers to type in",
                "For manual only: one name on each line.",
            ),
        ),
    ),
    Group(
        "Target: what is predicted",
        (
            Field(
                "target.labels",
                "Labels",
                "Two or more, one on each line. Leave empty to predict a number.",
            ),
            Field("target.description", "In plain words"),
        ),
    ),
    Group(
        "Model",
        (
            Field(
                "model.kind",
                "Kind",
                "softmax and hinge for labels, ridge and huber for a number.",
                "softmax",
                words.MODELS,
            ),
        ),
        "More about the model",
        (
            Field(
                "model.clip",
                "Clip",
                "S, the bound on a sample’s gradient in L1; smaller means less noise. Empty: the "
                "model’s own bound. Ridge needs one.",
            ),
            Field("model.regularization", "Regularization", "λ."),
            Field("model.radius", "Radius", "R, the bound on ‖w‖₂."),
            Field("model.intercept", "With an intercept", "Doubles the bound S."),
            Field("model.delta", "Huber’s delta", "Where the loss becomes linear."),
            Field(
                "model.tolerance",
                "Tolerance",
                "For numbers: a residual larger than this is an error.",
            ),
        ),
    ),
    Group(
        "Privacy",
        (
            Field(
                "privacy.epsilon",
                "ε of a sample",
                "What one sample loses in all, at most: 1 is strong, 10 weak, inf no privacy.",
                "1.0",
            ),
        ),
        "How ε is shared",
        (
            Field("privacy.epsilon_e", "ε for the error count", "Empty: 5 %."),
            Field(
                "privacy.epsilon_y",
                "ε for the label counts",
                "Empty: 5 %. The gradient gets the rest.",
            ),
        ),
    ),
    Group(
        "Collection",
        (
            Field(
                "collection.batch", "Samples in a check-in", "b; the noise shrinks with 1/b.", "52"
            ),
            Field(
                "collection.buffer",
                "Samples a device keeps at most",
                "B; a device without network stops collecting here.",
                "520",
            ),
        ),
        "Held-out samples",
        (Field("collection.heldout", "Share set aside for counting errors", "0 … 0.5."),),
    ),
    Group(
        "Algorithm of the server",
        (Field("optimizer.kind", "Kind", "", "adagrad", words.ALGORITHMS),),
        "Its settings",
        (
            Field("optimizer.rate", "Rate", "For sgd and average-gradient.", names=words.RATES),
            Field("optimizer.c", "c", "The rate’s constant.", "3.0"),
            Field(
                "optimizer.averaging",
                "Averaging",
                "Publish an average of iterates: 0 is the plain mean, 8 favours the newest. "
                "Empty: none.",
                "8",
            ),
        ),
    ),
    Group(
        "When it ends",
        (Field("stop.updates", "After so many check-ins", "", "100000"),),
        "End earlier at a target error",
        (
            Field(
                "stop.error",
                "When the error is surely at most",
                "ρ, between 0 and 1. Empty: never.",
            ),
            Field("stop.window", "Over the last check-ins"),
            Field("stop.samples", "With at least so many samples"),
            Field("stop.confidence", "At this confidence"),
        ),
    ),
    Group(
        "Who may join",
        (Field("enrolment.mode", "Joining", "", "open", MODES),),
        "Limits for devices",
        (
            Field(
                "enrolment.checkins_per_minute",
                "Check-ins a minute of a device",
                "In bursts of up to ten.",
                "60",
            ),
            Field(
                "enrolment.max_staleness",
                "Most versions late",
                "Older gradients are refused. Empty: none is too old.",
            ),
        ),
    ),
]

FIELDS = {field.key: field for group in GROUPS for field in (*group.fields, *group.expert)}
DEFAULTS = {key: field.start for key, field in FIELDS.items()}

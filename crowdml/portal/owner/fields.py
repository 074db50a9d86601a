"""The fields of the form that creates a task, as data: what a task file has, in its order."""

from enum import StrEnum
from typing import NamedTuple

from crowdml.portal import words

__all__ = ["DEFAULTS", "FIELDS", "GROUPS", "Field", "Group", "Kind"]


class Kind(StrEnum):
    LINE = "line"
    TEXT = "text"
    LINES = "lines"
    NUMBER = "number"
    CHOICE = "choice"
    CHECK = "check"


class Field(NamedTuple):
    """One field.

    Args:
        key: Its place in a task file.
        label: Its name for people.
        hint: What to write, and what holds if nothing is written.
        kind: How it is written.
        default: What the form starts with.
        choices: For a choice: values and their names.
    """

    key: str
    label: str
    hint: str = ""
    kind: Kind = Kind.LINE
    default: str = ""
    choices: tuple[tuple[str, str], ...] = ()

    @property
    def id(self) -> str:
        return self.key.replace(".", "-")


class Group(NamedTuple):
    """Fields under one heading; those for experts are folded away."""

    title: str
    fields: tuple[Field, ...]
    more: str = ""
    expert: tuple[Field, ...] = ()


def _named(names: dict[str, str], first: str = "") -> tuple[tuple[str, str], ...]:
    start = (("", first),) if first else ()
    return start + tuple((key, f"{key}: {meaning}") for key, meaning in names.items())


GROUPS = [
    Group(
        "What is learnt",
        (
            Field("name", "Name", "Lower-case letters, digits and hyphens; part of addresses."),
            Field("title", "Title", "One line for people."),
            Field(
                "objective", "Objective", "What is learnt and what for, in plain words.", Kind.TEXT
            ),
            Field(
                "sensors",
                "Sensor data",
                "Which sensors are read and how often, in plain words.",
                Kind.TEXT,
            ),
        ),
    ),
    Group(
        "Features: the numbers a device computes",
        (
            Field("features.count", "How many numbers", "D, 1 … 100,000.", Kind.NUMBER, "33"),
            Field(
                "features.description",
                "How they are computed",
                "Constants must be fixed or come from public data.",
                Kind.TEXT,
            ),
        ),
        "Let browsers compute them from a sensor",
        (
            Field(
                "features.sensor.kind",
                "Sensor",
                "With a sensor, phones can take part in a browser.",
                Kind.CHOICE,
                choices=_named(words.SENSORS, "none: devices bring their own samples"),
            ),
            Field(
                "features.sensor.transform",
                "From readings to features",
                "A spectrum makes up to as many numbers as the window has readings, a summary 4.",
                Kind.CHOICE,
                choices=_named(
                    {
                        "spectrum": "first bins of the window’s Fourier transform, summing to 1",
                        "amplitudes": "first bins of the Fourier transform, divided by the scale",
                        "summary": "mean, standard deviation, smallest, largest",
                        "values": "the numbers typed in (manual only)",
                    },
                    "default: spectrum",
                ),
            ),
            Field("features.sensor.rate", "Readings a second", "Empty: 20.", Kind.NUMBER),
            Field("features.sensor.window", "Readings in a window", "Empty: 64.", Kind.NUMBER),
            Field(
                "features.sensor.first_bin",
                "Weight of bin 0",
                "0 … 1; for motion this bin is mostly gravity. Empty: 1.",
                Kind.NUMBER,
            ),
            Field(
                "features.sensor.scale", "Fixed divisor", "Empty: 1. Not for spectra.", Kind.NUMBER
            ),
            Field(
                "features.sensor.every",
                "Seconds between samples",
                "At least. Empty: 30.",
                Kind.NUMBER,
            ),
            Field(
                "features.sensor.trigger",
                "When to take a sample",
                "With label-change, the time of a sample depends on the labels.",
                Kind.CHOICE,
                choices=_named(
                    {"always": "at every turn", "label-change": "only when the label has changed"},
                    "default: always",
                ),
            ),
            Field(
                "features.sensor.fields",
                "Numbers to type in",
                "For manual only: one name on each line.",
                Kind.LINES,
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
                Kind.LINES,
            ),
            Field("target.description", "In plain words", "", Kind.TEXT),
        ),
    ),
    Group(
        "Model",
        (
            Field(
                "model.kind",
                "Kind",
                "softmax and hinge for labels, ridge and huber for a number.",
                Kind.CHOICE,
                "softmax",
                _named(words.MODELS),
            ),
        ),
        "More about the model",
        (
            Field(
                "model.clip",
                "Clip",
                "S, the bound on a sample’s gradient in L1; smaller means less noise. Empty: the "
                "model’s own bound. Ridge needs one.",
                Kind.NUMBER,
            ),
            Field("model.regularization", "Regularization", "λ. Empty: 0.", Kind.NUMBER),
            Field("model.radius", "Radius", "R, the bound on ‖w‖₂. Empty: 1000.", Kind.NUMBER),
            Field("model.intercept", "With an intercept", "Doubles the bound S.", Kind.CHECK),
            Field(
                "model.delta",
                "Huber’s delta",
                "Where the loss becomes linear. Empty: 1.",
                Kind.NUMBER,
            ),
            Field(
                "model.tolerance",
                "Tolerance",
                "For numbers: a residual larger than this is an error. Empty: 1.",
                Kind.NUMBER,
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
                Kind.NUMBER,
                "1.0",
            ),
        ),
        "How ε is shared",
        (
            Field("privacy.epsilon_e", "ε for the error count", "Empty: 5 %.", Kind.NUMBER),
            Field(
                "privacy.epsilon_y",
                "ε for the label counts",
                "Empty: 5 %. The gradient gets the rest.",
                Kind.NUMBER,
            ),
        ),
    ),
    Group(
        "Collection",
        (
            Field(
                "collection.batch",
                "Samples in a check-in",
                "b; the noise shrinks with 1/b.",
                Kind.NUMBER,
                "52",
            ),
            Field(
                "collection.buffer",
                "Samples a device keeps at most",
                "B; a device without network stops collecting here.",
                Kind.NUMBER,
                "520",
            ),
        ),
        "Held-out samples",
        (
            Field(
                "collection.heldout",
                "Share set aside for counting errors",
                "0 … 0.5. Empty: 0.",
                Kind.NUMBER,
            ),
        ),
    ),
    Group(
        "Algorithm of the server",
        (Field("optimizer.kind", "Kind", "", Kind.CHOICE, "adagrad", _named(words.ALGORITHMS)),),
        "Its settings",
        (
            Field(
                "optimizer.rate",
                "Rate",
                "For sgd and average-gradient.",
                Kind.CHOICE,
                choices=_named(words.RATES, "default: sqrt"),
            ),
            Field("optimizer.c", "c", "The rate’s constant. Empty: 1.", Kind.NUMBER, "3.0"),
            Field(
                "optimizer.averaging",
                "Averaging",
                "Publish an average of iterates: 0 is the plain mean, 8 favours the newest. "
                "Empty: none.",
                Kind.NUMBER,
                "8",
            ),
        ),
    ),
    Group(
        "When it ends",
        (
            Field(
                "stop.updates",
                "After so many check-ins",
                "Empty: 1,000,000.",
                Kind.NUMBER,
                "100000",
            ),
        ),
        "End earlier at a target error",
        (
            Field(
                "stop.error",
                "When the error is surely at most",
                "ρ, between 0 and 1. Empty: never.",
                Kind.NUMBER,
            ),
            Field("stop.window", "Over the last check-ins", "Empty: 200.", Kind.NUMBER),
            Field("stop.samples", "With at least so many samples", "Empty: 1000.", Kind.NUMBER),
            Field("stop.confidence", "At this confidence", "Empty: 0.999.", Kind.NUMBER),
        ),
    ),
    Group(
        "Who may join",
        (
            Field(
                "enrolment.mode",
                "Joining",
                "",
                Kind.CHOICE,
                "open",
                (("open", "open: anyone"), ("invite", "invite: only with a code from you")),
            ),
        ),
        "Limits for devices",
        (
            Field(
                "enrolment.checkins_per_minute",
                "Check-ins a minute of a device",
                "In bursts of up to ten. Empty: 60.",
                Kind.NUMBER,
                "60",
            ),
            Field(
                "enrolment.max_staleness",
                "Most versions late",
                "Older gradients are refused. Empty: none is too old.",
                Kind.NUMBER,
            ),
        ),
    ),
]

FIELDS = {field.key: field for group in GROUPS for field in (*group.fields, *group.expert)}
DEFAULTS = {key: field.default for key, field in FIELDS.items()}

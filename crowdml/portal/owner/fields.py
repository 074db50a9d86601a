"""The fields of the form that creates a task, as data: what a task file has, in its order."""

import math
from typing import NamedTuple

from crowdml.portal import words
from crowdml.portal.owner.field import Field
from crowdml.protocol import MECHANISMS
from crowdml.protocol.wording import listed

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
CLIPS = listed(
    (f"{kind.clip:g} for {name}" for name, kind in MECHANISMS.items() if kind.clip < math.inf),
    "and",
)
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
        "For a number",
        (
            Field(
                "target.scale",
                "Its typical size",
                "Public, so guess it: never compute it from participants’ data.",
            ),
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
                "S, for gaussian and laplace: the bound on a sample’s gradient; smaller means less "
                f"noise. Empty: with the planned rate {CLIPS}, in units of a number’s typical "
                "size; otherwise the model’s own bound, so that ridge needs one.",
            ),
            Field("model.regularization", "Regularization", "λ."),
            Field("model.radius", "Radius", "R, the bound on ‖w‖₂."),
            Field("model.intercept", "With an intercept", "Raises the bound S."),
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
                "ε",
                "What a person loses in all, at most: 1 is strong, 4 moderate, 10 weak. With a "
                "mechanism that protects samples, what one sample loses; inf is then no privacy.",
                "4",
            ),
        ),
        "Another mechanism",
        (
            Field("privacy.mechanism", "Mechanism", "", "direction", words.MECHANISMS),
            Field(
                "privacy.epsilon_e",
                "ε for the error count",
                "For gaussian and laplace. Empty: 5 %.",
            ),
            Field(
                "privacy.epsilon_y",
                "ε for the label counts",
                "For gaussian and laplace. Empty: 5 %. The gradient gets the rest.",
            ),
            Field(
                "privacy.delta",
                "δ",
                "For gaussian: the chance that is left open to tell more. Empty: 0.000001.",
            ),
            Field(
                "privacy.directions",
                "Directions",
                "k, for direction: how many there are to choose from. Empty: 1,024.",
            ),
        ),
    ),
    Group(
        "Check-ins",
        (
            Field(
                "collection.batch",
                "Samples in a check-in",
                "b: a device waits until it has so many. With noise, more of them need less of it.",
                "50",
            ),
            Field(
                "stop.updates",
                "Check-ins that you expect",
                "From all devices together, within a factor of four: the size of the steps follows "
                "from it, and the task ends after so many.",
                "1000",
            ),
        ),
        "More about check-ins",
        (
            Field(
                "collection.buffer",
                "Samples a device keeps at most",
                "B; a device without network stops collecting here. Empty: ten check-ins’.",
            ),
            Field(
                "collection.checkins",
                "Check-ins of a device at most",
                "K, for direction: they share ε. Empty: 1.",
            ),
            Field(
                "collection.evaluators",
                "Share of check-ins that only measure the error",
                "For direction, 0 … 0.9. Empty: 0.2.",
            ),
            Field(
                "collection.heldout",
                "Share of samples set aside for counting errors",
                "For gaussian and laplace, 0 … 0.5. Empty: 0.",
            ),
        ),
    ),
    Group(
        "Algorithm of the server",
        (),
        "Choose it by hand",
        (
            Field("optimizer.kind", "Kind", "", names=words.ALGORITHMS),
            Field(
                "optimizer.rate",
                "Rate",
                "For sgd and average-gradient.",
                names=words.RATES,
                none="default: planned, or sqrt if c is given",
            ),
            Field("optimizer.c", "c", "The rate’s constant. Empty: planned, or 1."),
            Field(
                "optimizer.averaging",
                "Averaging",
                "Export an average of iterates: 0 is the plain mean, 8 favours the newest. Empty: "
                "3 with the planned rate, otherwise none.",
            ),
            Field(
                "optimizer.reach",
                "Reach",
                "D of the planned rate: how far the parameters are expected to go. Empty: what "
                "suits the mechanism.",
            ),
        ),
    ),
    Group(
        "When it ends",
        (),
        "End earlier at a target error",
        (
            Field(
                "stop.error",
                "When the error is surely at most",
                "ρ, between 0 and 1. Empty: never.",
            ),
            Field("stop.window", "Over the last check-ins that measured it"),
            Field(
                "stop.samples",
                "With at least so many predictions",
                "Empty: 1,000, or 200 where each of these check-ins tells of one.",
            ),
            Field("stop.confidence", "At this confidence"),
            Field("stop.devices", "From at least so many devices"),
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
                "In bursts of up to ten. Empty: twice what the sensor gives, or 60.",
            ),
            Field(
                "enrolment.max_staleness",
                "Most versions late",
                "Older check-ins are refused. Empty: none is too old.",
            ),
        ),
    ),
]

FIELDS = {field.key: field for group in GROUPS for field in (*group.fields, *group.expert)}
DEFAULTS = {key: field.start for key, field in FIELDS.items()}

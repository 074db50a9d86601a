"""Define the form that creates a task, as data: four steps, each with folded fields."""

from crowdml.models import MODELS
from crowdml.optim import OPTIMIZERS, RATES
from crowdml.portal.pages.owner.field import Field, FoldedFields, FormStep
from crowdml.protocol import COUNTERS, EVALUATORS, MECHANISMS, SENSORS, SUMMARY

TRANSFORMS = {
    "spectrum": "first bins of the window’s Fourier transform, summing to 1",
    "amplitudes": "first bins of the Fourier transform, divided by the scale",
    "summary": ", ".join(SUMMARY),
    "values": "the numbers typed in",
}
TRIGGERS = {"always": "at every turn", "label-change": "only when the label has changed"}
MISSING = {"reject": "skip the sample", "center": "use the center"}
MECHANISM_NAMES = {
    "direction": "the whole person",
    "gaussian": "each sample, Gaussian noise",
    "laplace": "each sample, Laplace noise",
}
"""What each mechanism protects, in words that fit into a list of choices."""

MODES = {"open": "anyone", "invite": "only with a code from you"}

FORM: list[FormStep | FoldedFields | Field] = [
    FormStep("What is learnt", "People read this before they take part."),
    Field("title", "Title", "One line for people."),
    Field("objective", "Objective", "What is learnt, in plain words."),
    Field("owner", "Who asks", "You, by name, and for whom you work."),
    Field("contact", "How to reach you", "A mail address or a page."),
    Field("purpose", "Purpose", "What the model will be used for, and by whom."),
    FoldedFields("Address"),
    Field(
        "name",
        "Name",
        "Lower-case letters, digits and hyphens; part of addresses. Empty: made from the title.",
    ),
    FormStep("What is measured", "A sample is one measurement with its answer."),
    Field(
        "features.sensor.kind",
        "Sensor",
        "With a sensor, phones can take part in a browser.",
        "motion",
        SENSORS,
        none="none: devices bring their own samples",
    ),
    Field("sensors", "Sensor data in plain words", "Which sensors are read, and how often."),
    Field(
        "target.labels",
        "Labels",
        "The answers to choose from: two or more, one on each line. Leave empty to predict a "
        "number.",
    ),
    FoldedFields("How the numbers are made"),
    Field(
        "features.sensor.fields",
        "Numbers to type in",
        "If participants type in numbers: the name of each, one on a line.",
    ),
    Field(
        "features.sensor.transform",
        "From readings to features",
        "Empty: values where numbers are typed in, otherwise spectrum.",
        names=TRANSFORMS,
        none="chosen by the sensor",
    ),
    Field(
        "features.count",
        "How many features",
        "1 … 100,000. Empty: the number that the sensor makes, or the number of names.",
    ),
    Field(
        "features.description",
        "How they are computed",
        "In plain words. Constants must be fixed or come from public data.",
    ),
    Field("features.sensor.every", "Seconds between samples", "At least."),
    Field("features.sensor.rate", "Readings a second"),
    Field("features.sensor.window", "Readings in a window"),
    Field(
        "features.sensor.first_bin",
        "Weight of bin 0",
        "0 … 1; for motion it is mostly gravity. Empty: what suits the sensor.",
        default=False,
    ),
    Field("features.sensor.scale", "Fixed divisor", "Not for spectra."),
    Field(
        "features.sensor.trigger",
        "When to take a sample",
        "With label-change, the time of a sample depends on the labels.",
        names=TRIGGERS,
    ),
    FoldedFields("Readings in their own units"),
    Field("features.names", "Names of the readings", "One on each line; not with a sensor."),
    Field(
        "features.center",
        "Usual value of each reading",
        "One number on each line, in the order of the names; it is subtracted. It is public, so "
        "guess it.",
    ),
    Field(
        "features.scale",
        "Usual distance from it",
        "One number on each line; the reading is divided by it. Six times this distance is the "
        "most that counts.",
    ),
    Field(
        "features.length",
        "Common divisor",
        "A sample longer than 1 is shortened: choose the divisor so that most samples are not.",
    ),
    Field("features.missing", "Where a reading is missing", names=MISSING),
    FoldedFields("More about the answer"),
    Field("target.description", "The answer in plain words"),
    Field(
        "target.scale",
        "A number’s typical size",
        "Public, so guess it: never compute it from participants’ data.",
    ),
    Field("target.unit", "A number’s unit", "Such as kg: it stands beside every prediction."),
    Field(
        "model.tolerance",
        "Tolerance",
        "For numbers: a prediction that is off by more than this is an error.",
    ),
    FormStep(
        "What people give", "A check-in is one message that is made from samples, with randomness."
    ),
    Field(
        "privacy.epsilon",
        "ε, the loss of privacy",
        "1 is strong protection, 4 moderate, 10 weak. For direction, ε is the most that a person "
        "loses in total; for gaussian and laplace, the most that one sample loses.",
        "4",
    ),
    Field(
        "collection.batch",
        "Samples in a check-in",
        "A device waits until it has this number of samples.",
        "50",
    ),
    FoldedFields("More about check-ins"),
    Field(
        "collection.checkins",
        "Most check-ins of one device",
        "For direction: they share ε. Empty: 1.",
    ),
    Field(
        "collection.buffer",
        "Samples a device keeps at most",
        "A device without a network stops collecting here. Empty: enough for ten check-ins.",
    ),
    Field(
        "collection.evaluators",
        "Share of check-ins that only send right or wrong",
        "They measure the error. For direction, 0 … 0.9.",
        usual=EVALUATORS,
    ),
    Field(
        "collection.counters",
        "Share of check-ins that only send one answer",
        "They count the answers. For direction, 0 … 0.9; none where a number is predicted.",
        usual=COUNTERS,
    ),
    Field(
        "collection.heldout",
        "Share of samples set aside for counting errors",
        "For gaussian and laplace, 0 … 0.5. Empty: 0.",
    ),
    FoldedFields("Another mechanism"),
    Field(
        "privacy.mechanism",
        "Mechanism",
        "For gaussian and laplace, ε = inf means no privacy.",
        "direction",
        MECHANISMS,
        MECHANISM_NAMES,
    ),
    Field(
        "privacy.epsilon_e", "ε for the error count", "For gaussian and laplace. Empty: 5 % of ε."
    ),
    Field(
        "privacy.epsilon_y",
        "ε for the label counts",
        "For gaussian and laplace. Empty: 5 % of ε. The gradient gets the rest.",
    ),
    Field(
        "privacy.delta",
        "δ",
        "For gaussian: the probability that more is revealed. Empty: 0.000001.",
    ),
    Field(
        "privacy.directions",
        "Directions",
        "For direction: the number of directions to choose from. Empty: 1,024.",
    ),
    FormStep("The crowd", "How many will take part, and what can they reach?"),
    Field(
        "stop.updates",
        "Most check-ins in total",
        "From all devices together. The task ends after this number, so rather name too many. It "
        "also sets the size of the learning steps, which still suits a quarter of this number.",
        "1000",
    ),
    Field("enrolment.mode", "Who may join", "", "open", MODES),
    FoldedFields("End earlier at a target error"),
    Field(
        "stop.error",
        "Target error",
        "Between 0 and 1: the task ends earlier once it is confident that its error is at most "
        "this. Empty: never.",
    ),
    Field("stop.window", "Newest reports that count"),
    Field(
        "stop.samples",
        "Predictions needed, at least",
        "Empty: 1,000, or 200 where each report is about one prediction.",
    ),
    Field("stop.confidence", "Confidence"),
    Field("stop.devices", "Devices needed, at least"),
    FoldedFields("Model and algorithm"),
    Field(
        "model.kind",
        "Model",
        "softmax (the default) and hinge for labels, huber (the default) and ridge for a number.",
        names=MODELS,
        none="as the answer needs",
    ),
    Field(
        "model.clip",
        "Clip",
        "For gaussian and laplace: the bound on a sample’s gradient; smaller means less noise. "
        "Empty: what suits the planned rate; otherwise the model’s own bound, so that ridge needs "
        "one.",
    ),
    Field("model.regularization", "Regularization", "λ."),
    Field("model.radius", "Radius", "The bound on ‖w‖₂."),
    Field("model.intercept", "With an intercept", "Always where readings have a usual value."),
    Field("model.delta", "Huber’s delta", "Where the loss becomes linear."),
    Field("optimizer.kind", "Algorithm of the server", names=OPTIMIZERS),
    Field(
        "optimizer.rate",
        "Rate",
        "For sgd and average-gradient; the default is sqrt if c is given.",
        names=RATES,
        none="default: planned",
    ),
    Field("optimizer.c", "c", "The rate’s constant. Empty: planned, or 1."),
    Field(
        "optimizer.averaging",
        "Averaging",
        "Export an average of iterates: 0 is the plain mean, 8 favours the newest. Empty: 3 with "
        "the planned rate, otherwise none.",
    ),
    Field(
        "optimizer.reach",
        "Reach",
        "For the planned rate: how far the parameters are expected to go. Empty: what suits the "
        "mechanism.",
    ),
    FoldedFields("Limits for devices"),
    Field(
        "enrolment.checkins_per_minute",
        "Check-ins per minute and device",
        "Up to ten at once. Empty: twice what the sensor gives, or 60.",
    ),
    Field(
        "enrolment.max_staleness",
        "Largest staleness, in versions",
        "Older check-ins are rejected. Empty: none is too old.",
    ),
]
"""The form from top to bottom: a field belongs to the step or fold above it."""


def _steps() -> list[FormStep]:
    steps: list[FormStep] = []
    for row in FORM:
        match row:
            case FormStep():
                steps.append(row)
                fields = row.fields
            case FoldedFields():
                steps[-1].folds.append(row)
                fields = row.fields
            case Field():
                fields.append(row)
    return steps


STEPS = _steps()
FIELDS = {row.key: row for row in FORM if isinstance(row, Field)}
DEFAULTS = {key: field.start for key, field in FIELDS.items()}

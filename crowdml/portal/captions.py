"""Words under a chart: how to read it, honestly, and what it says to those who do not see it."""

from crowdml.portal.facts import Facts
from crowdml.portal.promise import Promise
from crowdml.portal.words import count, counted, estimate
from crowdml.protocol import Task

__all__ = [
    "note_error",
    "note_labels",
    "say_devices",
    "say_error",
    "say_labels",
    "say_pace",
    "say_staleness",
]


def note_error(task: Task) -> str:
    how_often = "How often the model of the moment was wrong"
    band = "the truth lies in the band with 95 % confidence"
    edges = "; the band can reach below 0 and above 1."
    if Promise.of(task.terms).whole:
        if not task.terms.collection.evaluators:
            return "Not measured: in this task every check-in trains."
        new = "people who" if task.terms.collection.checkins == 1 else "samples that"
        return (
            f"{how_often} for {new} did not train it: some check-ins only report whether one "
            f"prediction was right, with chance in the answer, so {band}{edges}"
        )
    counts = f"{how_often} on the devices’ own new samples"
    if not task.terms.hides:
        return f"{counts}: {band}."
    return f"{counts}. Devices send these counts with noise, so {band}{edges}"


def note_labels(task: Task) -> str:
    divide = "How the samples of the crowd divide over the labels, from"
    if Promise.of(task.terms).whole:
        return f"{divide} the same reports. A bar below zero is chance."
    if not task.terms.hides:
        return f"{divide} exact counts."
    return f"{divide} noisy counts. A bar below zero is noise."


def say_error(facts: Facts) -> str:
    now = facts.statistics
    return f"{estimate(now.recent_error or now.error)}, after {counted(now.version, 'check-in')}"


def say_labels(facts: Facts) -> str:
    labels = zip(facts.task.terms.target.labels, facts.statistics.labels, strict=False)
    return ", ".join(f"{name} {estimate(share)}" for name, share in labels) or "not known yet"


def say_pace(facts: Facts) -> str:
    rows = sorted(facts.course.by_minute.items())
    return f"{count(rows[-1][1])} in the newest minute with any" if rows else "none yet"


def say_staleness(facts: Facts) -> str:
    now = facts.statistics
    return f"{now.staleness_mean:.1f} versions on average, {now.staleness_max} at most"


def say_devices(facts: Facts) -> str:
    now = facts.statistics
    return f"{count(now.active_devices)} of {count(now.devices)} have checked in"

"""The charts of a task: what each one says, its numbers, and its drawing by Matplotlib."""

from collections.abc import Callable
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from crowdml.portal.captions import (
    note_error,
    note_labels,
    say_devices,
    say_error,
    say_labels,
    say_pace,
    say_staleness,
)
from crowdml.portal.drawing import NOTHING, Theme, empty, figure, tidy
from crowdml.portal.facts import Facts
from crowdml.portal.words import count
from crowdml.protocol import Task
from crowdml.server.entry import this_minute
from crowdml.server.totals import error_estimate

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["CHARTS", "Chart", "draw_spark"]

HOUR = 60


class Chart(NamedTuple):
    """One chart.

    Args:
        title: What it shows.
        note: How to read it, honestly.
        says: The same in a sentence, for those who do not see it.
        columns: Names of the numbers in `rows`.
        rows: The numbers, for CSV.
        draw: The same as a picture.
    """

    title: str
    note: Callable[[Task], str]
    says: Callable[[Facts], str]
    columns: tuple[str, ...]
    rows: Callable[[Facts], list[tuple[float, ...]]]
    draw: "Callable[[Facts, Theme], Figure]"


def error_rows(facts: Facts) -> list[tuple[float, ...]]:
    """Check-ins; error of the recent window, its margin; error since the start."""
    noise = facts.course.error_noise
    rows: list[tuple[float, ...]] = []
    for point in facts.course.points:
        recent = error_estimate(
            point.recent_errors, point.recent_evaluated, point.recent_checkins, noise
        )
        overall = error_estimate(point.errors, point.evaluated, point.evaluations, noise)
        if recent and overall:
            rows.append((point.version, recent.value, recent.margin, overall.value))
    return rows


def draw_error(facts: Facts, theme: Theme) -> "Figure":
    rows = error_rows(facts)
    if not rows:
        return empty(theme, "Not measured yet" if facts.statistics.version else NOTHING)
    picture, axes = figure(theme)
    x, value, margin, overall = zip(*rows, strict=True)
    low = [v - m for v, m in zip(value, margin, strict=True)]
    high = [v + m for v, m in zip(value, margin, strict=True)]
    axes.fill_between(x, low, high, color=theme.accent, alpha=0.22, linewidth=0, label="95 % band")
    axes.plot(x, value, color=theme.accent, label=_window(facts.task))
    axes.plot(x, overall, color=theme.faint, linewidth=1.2, label="since the start")
    target = facts.task.stop.error
    if target is not None:
        axes.axhline(target, color=theme.good, linestyle="--", linewidth=1.2, label="target")
    axes.set_ylim(-0.15, 1.05)
    axes.set_ylabel("estimated error")
    axes.set_xlabel("check-ins")
    axes.legend(loc="upper right", ncols=2, frameon=False, labelcolor=theme.text)
    return tidy(picture, axes)


def label_rows(facts: Facts) -> list[tuple[float, ...]]:
    return [(k, e.value, e.margin) for k, e in enumerate(facts.statistics.labels)]


def draw_labels(facts: Facts, theme: Theme) -> "Figure":
    rows = label_rows(facts)
    if not rows:
        return empty(theme, "Not measured yet" if facts.statistics.version else NOTHING)
    picture, axes = figure(theme)
    names = [_short(label) for label in facts.task.terms.target.labels]
    _, value, margin = zip(*rows, strict=True)
    axes.barh(names, value, xerr=margin, color=theme.accent, ecolor=theme.text, capsize=3)
    axes.axvline(0, color=theme.faint, linewidth=1)
    axes.invert_yaxis()
    axes.set_xlabel("share of samples, with 95 % error bars")
    axes.set_xlim(min(-0.05, *(max(-1.0, v - m) for _, v, m in rows)), 1.05)
    return tidy(picture, axes)


def pace_rows(facts: Facts) -> list[tuple[float, ...]]:
    return [(minute, n) for minute, n in sorted(facts.course.by_minute.items())]


def draw_pace(facts: Facts, theme: Theme) -> "Figure":
    now = this_minute()
    recent = [(m, n) for m, n in pace_rows(facts) if m > now - 60 * HOUR]
    if not recent:
        return empty(theme, "No check-ins in the last hour")
    picture, axes = figure(theme)
    minutes, numbers = zip(*recent, strict=True)
    axes.bar([(m - now) / 60 for m in minutes], numbers, color=theme.accent, width=0.8)
    axes.set_xlim(-HOUR, 1)
    axes.set_xlabel("minutes ago")
    axes.set_ylabel("check-ins a minute")
    return tidy(picture, axes)


def staleness_rows(facts: Facts) -> list[tuple[float, ...]]:
    """Check-ins; the mean staleness between this point and the one before."""
    points = [(0, 0), *((p.version, p.staleness) for p in facts.course.points)]
    return [(v, (s - s0) / (v - v0)) for (v0, s0), (v, s) in pairwise(points)]


def draw_staleness(facts: Facts, theme: Theme) -> "Figure":
    return _line(staleness_rows(facts), "versions late, mean", theme)


def device_rows(facts: Facts) -> list[tuple[float, ...]]:
    return [(point.version, point.active_devices) for point in facts.course.points]


def draw_devices(facts: Facts, theme: Theme) -> "Figure":
    return _line(device_rows(facts), "devices that checked in", theme)


def _line(rows: list[tuple[float, ...]], label: str, theme: Theme) -> "Figure":
    """Something over the check-ins, from zero up."""
    if not rows:
        return empty(theme)
    picture, axes = figure(theme)
    axes.plot(*zip(*rows, strict=True), color=theme.accent)
    axes.set_ylim(bottom=0)
    axes.set_xlabel("check-ins")
    axes.set_ylabel(label)
    return tidy(picture, axes)


def draw_spark(facts: Facts, theme: Theme) -> "Figure":
    """The error as a small curve without axes, for lists."""
    rows = error_rows(facts)
    picture, axes = figure(theme, width=2.2, height=0.5)
    axes.set_axis_off()
    axes.set_ylim(-0.05, 1.05)
    if rows:
        x, value, margin, _ = zip(*rows, strict=True)
        low = [v - m for v, m in zip(value, margin, strict=True)]
        high = [v + m for v, m in zip(value, margin, strict=True)]
        axes.fill_between(x, low, high, color=theme.accent, alpha=0.2, linewidth=0)
        axes.plot(x, value, color=theme.accent)
    else:
        axes.axhline(0.5, color=theme.faint, linewidth=1, linestyle=":")
    return picture


def _window(task: Task) -> str:
    """What the newest estimate is made of."""
    return f"last {count(task.stop.window)} " + (
        "reports" if task.terms.collection.evaluators else "check-ins"
    )


def _short(label: str) -> str:
    return label if len(label) <= 18 else label[:17] + "…"


CHARTS = {
    "error": Chart(
        "Estimated error",
        note_error,
        say_error,
        ("checkins", "recent_error", "recent_margin", "error_since_start"),
        error_rows,
        draw_error,
    ),
    "labels": Chart(
        "Labels",
        note_labels,
        say_labels,
        ("label", "share", "margin"),
        label_rows,
        draw_labels,
    ),
    "pace": Chart(
        "Check-ins a minute",
        lambda task: "Over the last hour. Times are kept to the minute only.",
        say_pace,
        ("minute", "checkins"),
        pace_rows,
        draw_pace,
    ),
    "staleness": Chart(
        "Staleness",
        lambda task: (
            "How outdated the model was when a device answered: the check-ins that came in "
            "between the device's check-out and its own."
        ),
        say_staleness,
        ("checkins", "staleness"),
        staleness_rows,
        draw_staleness,
    ),
    "devices": Chart(
        "Devices",
        lambda task: "Devices that have checked in at least once.",
        say_devices,
        ("checkins", "devices"),
        device_rows,
        draw_devices,
    ),
}

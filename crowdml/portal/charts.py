"""The charts of a task: what each one says, its numbers, and its drawing by Matplotlib."""

from collections.abc import Callable
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from crowdml.portal.drawing import Theme, empty, figure, tidy
from crowdml.portal.words import count, estimate
from crowdml.protocol import Statistics, Task
from crowdml.server.entry import this_minute
from crowdml.server.reports import Course
from crowdml.server.totals import error_estimate

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["CHARTS", "Chart", "Facts", "draw_spark"]

HOUR = 60


class Facts(NamedTuple):
    """All that charts are drawn from; every number of it comes from sanitised check-ins."""

    task: Task
    statistics: Statistics
    course: Course


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
    note: str
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
        overall = error_estimate(point.errors, point.evaluated, point.version, noise)
        if recent and overall:
            rows.append((point.version, recent.value, recent.margin, overall.value))
    return rows


def draw_error(facts: Facts, theme: Theme) -> "Figure":
    rows = error_rows(facts)
    if not rows:
        return empty(theme)
    picture, axes = figure(theme)
    x, value, margin, overall = zip(*rows, strict=True)
    low = [v - m for v, m in zip(value, margin, strict=True)]
    high = [v + m for v, m in zip(value, margin, strict=True)]
    axes.fill_between(x, low, high, color=theme.accent, alpha=0.22, linewidth=0, label="95 % band")
    window = facts.task.stop.window
    axes.plot(x, value, color=theme.accent, label=f"last {window} check-ins")
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
        return empty(theme)
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


def say_error(facts: Facts) -> str:
    now = facts.statistics
    return f"{estimate(now.recent_error or now.error)}, after {count(now.version)} check-ins"


def say_labels(facts: Facts) -> str:
    labels = zip(facts.task.terms.target.labels, facts.statistics.labels, strict=False)
    return ", ".join(f"{name} {estimate(share)}" for name, share in labels) or "not known yet"


def say_pace(facts: Facts) -> str:
    rows = pace_rows(facts)
    return f"{count(int(rows[-1][1]))} in the newest minute with any" if rows else "none yet"


def say_staleness(facts: Facts) -> str:
    now = facts.statistics
    return f"{now.staleness_mean:.1f} versions on average, {now.staleness_max} at most"


def say_devices(facts: Facts) -> str:
    now = facts.statistics
    return f"{count(now.active_devices)} of {count(now.devices)} have checked in"


def _short(label: str) -> str:
    return label if len(label) <= 18 else label[:17] + "…"


CHARTS = {
    "error": Chart(
        "Estimated error",
        "How often the model of the moment was wrong on the devices' own new samples. Devices "
        "send these counts with noise, so the truth lies in the band with 95 % confidence; the "
        "band can reach below 0 and above 1.",
        say_error,
        ("checkins", "recent_error", "recent_margin", "error_since_start"),
        error_rows,
        draw_error,
    ),
    "labels": Chart(
        "Labels",
        "How the samples of the crowd divide over the labels, from noisy counts. A bar below "
        "zero is noise.",
        say_labels,
        ("label", "share", "margin"),
        label_rows,
        draw_labels,
    ),
    "pace": Chart(
        "Check-ins a minute",
        "Over the last hour. Times are kept to the minute only.",
        say_pace,
        ("minute", "checkins"),
        pace_rows,
        draw_pace,
    ),
    "staleness": Chart(
        "Staleness",
        "How outdated the model was when a device answered: the steps that it took between the "
        "device's check-out and its check-in.",
        say_staleness,
        ("checkins", "staleness"),
        staleness_rows,
        draw_staleness,
    ),
    "devices": Chart(
        "Devices",
        "Devices that have checked in at least once.",
        say_devices,
        ("checkins", "devices"),
        device_rows,
        draw_devices,
    ),
}

"""Define the charts of a task: for every reader, and for readers who want details."""

from collections.abc import Callable
from itertools import pairwise
from typing import TYPE_CHECKING

from crowdml.portal.pictures.chart import Chart, not_yet, thin
from crowdml.portal.pictures.drawing import Theme, figure, in_decimals, in_whole_numbers, tidy
from crowdml.portal.pictures.error_chart import ERROR
from crowdml.portal.pictures.label_chart import LABELS
from crowdml.portal.words import TaskNumbers, count, localize_number, say
from crowdml.server.database import this_minute

if TYPE_CHECKING:
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

HOUR = 60


def pace_rows(numbers: TaskNumbers) -> list[tuple[float, ...]]:
    return [(minute, n) for minute, n in sorted(numbers.history.by_minute.items())]


def _recent(numbers: TaskNumbers) -> list[tuple[float, ...]]:
    return [row for row in pace_rows(numbers) if row[0] > this_minute() - 60 * HOUR]


def draw_pace(numbers: TaskNumbers, theme: Theme) -> "Figure":
    now = this_minute()
    picture, axes = figure(theme)
    minutes, counts = zip(*_recent(numbers), strict=True)
    in_whole_numbers(axes.yaxis)
    axes.bar([(m - now) / 60 for m in minutes], counts, color=theme.accent, width=0.8)
    axes.set_xlim(-HOUR, 1)
    axes.set_xlabel(say("minutes ago"))
    axes.set_ylabel(say("check-ins a minute"))
    return tidy(picture, axes)


def say_pace(numbers: TaskNumbers) -> str:
    rows = sorted(numbers.history.by_minute.items())
    if not rows:
        return say("none yet")
    return say("{n} in the newest minute with any", n=count(rows[-1][1]))


def staleness_rows(numbers: TaskNumbers) -> list[tuple[float, ...]]:
    """Return rows of the number of check-ins and the mean staleness since the previous row."""
    points = [(0, 0), *((p.version, p.staleness) for p in numbers.history.points)]
    return [(v, (s - s0) / (v - v0)) for (v0, s0), (v, s) in pairwise(points)]


def say_staleness(numbers: TaskNumbers) -> str:
    now = numbers.statistics
    mean = localize_number(f"{now.staleness_mean:.1f}")
    return say("{mean} versions on average, {most} at most", mean=mean, most=now.staleness_max)


def device_rows(numbers: TaskNumbers) -> list[tuple[float, ...]]:
    return [(point.version, point.active_devices) for point in numbers.history.points]


def say_devices(numbers: TaskNumbers) -> str:
    now = numbers.statistics
    active, joined = count(now.active_devices), count(now.devices)
    return say("{active} of {joined} that joined", active=active, joined=joined)


def _line(
    rows: list[tuple[float, ...]], label: str, theme: Theme, ticks: "Callable[[Axis], None]"
) -> "Figure":
    """Draw a quantity over the check-ins, from zero up; a curve of zeros is visible on the axis."""
    picture, axes = figure(theme)
    marker = "o" if len(rows) == 1 else ""
    axes.plot(*zip(*thin(rows), strict=True), color=theme.accent, marker=marker, clip_on=False)
    axes.set_ylim(0, 1.05 * max(row[1] for row in rows) or 1)
    ticks(axes.yaxis)
    in_whole_numbers(axes.xaxis)
    axes.set_xlabel(say("check-ins"))
    axes.set_ylabel(label)
    return tidy(picture, axes)


DETAIL_CHARTS = {
    "devices": Chart(
        lambda task: say("Devices that have checked in"),
        lambda task: say("Each at least once. Others have joined and are still collecting."),
        say_devices,
        ("checkins", "devices"),
        device_rows,
        lambda numbers: "" if numbers.history.points else not_yet(numbers),
        lambda numbers, theme: _line(
            device_rows(numbers), say("devices that checked in"), theme, in_whole_numbers
        ),
    ),
    "pace": Chart(
        lambda task: say("Check-ins a minute"),
        lambda task: say("Over the last hour. Times are kept to the minute only."),
        say_pace,
        ("minute", "checkins"),
        pace_rows,
        lambda numbers: "" if _recent(numbers) else say("No check-ins in the last hour."),
        draw_pace,
    ),
    "staleness": Chart(
        lambda task: say("Staleness"),
        lambda task: say(
            "How outdated the model was when a device answered: the number of check-ins that "
            "arrived between the device’s check-out and its own check-in."
        ),
        say_staleness,
        ("checkins", "staleness"),
        staleness_rows,
        lambda numbers: "" if numbers.history.points else not_yet(numbers),
        lambda numbers, theme: _line(
            staleness_rows(numbers), say("versions late"), theme, in_decimals
        ),
    ),
}
CHARTS = {"error": ERROR, "labels": LABELS} | DETAIL_CHARTS

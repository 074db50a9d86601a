"""The chart of the error: of the newest check-ins, with its band, beside guessing."""

from typing import TYPE_CHECKING

from crowdml.learning import error_estimate
from crowdml.portal.pictures.chart import Chart, nothing, thin, uncertain
from crowdml.portal.pictures.drawing import (
    Theme,
    figure,
    in_percent,
    in_whole_numbers,
    legend,
    tidy,
)
from crowdml.portal.words import Facts, Performance, say, what_is_wrong
from crowdml.portal.words import plain as words
from crowdml.protocol import Estimate, Task

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["ERROR", "draw_spark", "error_rows"]

Row = tuple[float, float, float, float]
APART = 0.01
"""Two curves that differ by less are one."""


def error_rows(facts: Facts) -> list[Row]:
    """Check-ins; error of the recent window, its margin; error since the start."""
    noise = facts.course.error_noise
    rows: list[Row] = []
    for point in facts.course.points:
        recent = error_estimate(
            point.recent_errors, point.recent_evaluated, point.recent_checkins, noise
        )
        overall = error_estimate(point.errors, point.evaluated, point.evaluations, noise)
        if recent and overall:
            rows.append((point.version, recent.value, recent.margin, overall.value))
    return rows


def draw_error(facts: Facts, theme: Theme) -> "Figure":
    if not error_rows(facts):
        return nothing(facts, theme)
    rows = _rows_to_draw(facts)
    if not rows:
        return uncertain(theme)
    picture, axes = figure(theme)
    _band(axes, rows, theme, say("newest"))
    if any(abs(row[1] - row[3]) > APART for row in rows):
        since = [(row[0], _share(row[3])) for row in rows]
        label = say("since the start")
        axes.plot(*zip(*since, strict=True), color=theme.faint, linewidth=1.2, label=label)
    guess, target = Performance(facts).guess, facts.task.stop.error
    if guess is not None:
        axes.axhline(guess.error, color=theme.other, linestyle=":", label=say("guessing"))
    start = facts.task.start
    if start is not None and start.error is not None:
        label = say("pilot alone")
        axes.axhline(start.error, color=theme.text, linestyle="-.", linewidth=1, label=label)
    if target is not None:
        axes.axhline(target, color=theme.good, linestyle="--", linewidth=1.2, label=say("target"))
    axes.set_ylim(0, 1)
    in_percent(axes.yaxis)
    axes.set_ylabel(say("wrong"))
    in_whole_numbers(axes.xaxis)
    axes.set_xlabel(say("check-ins"))
    legend(picture, theme)
    return tidy(picture, axes)


def draw_spark(facts: Facts, theme: Theme) -> "Figure":
    """The error as a small curve without axes, for lists."""
    rows = _rows_to_draw(facts)
    picture, axes = figure(theme, width=2.2, height=0.5)
    axes.set_axis_off()
    axes.set_ylim(-0.05, 1.05)
    if rows:
        _band(axes, rows, theme)
    else:
        axes.axhline(0.5, color=theme.faint, linewidth=1, linestyle=":")
    return picture


def _rows_to_draw(facts: Facts) -> list[Row]:
    """The rows to draw: not those in which chance hides the answer."""
    return [row for row in thin(error_rows(facts)) if words.known(Estimate(row[1], row[2]))]


def _band(axes: "Axes", rows: list[Row], theme: Theme, label: str = "") -> None:
    x = [row[0] for row in rows]
    low, high = ([_share(row[1] + sign * row[2]) for row in rows] for sign in (-1, 1))
    axes.fill_between(x, low, high, color=theme.accent, alpha=0.22, linewidth=0)
    axes.plot(x, [_share(row[1]) for row in rows], color=theme.accent, label=label)


def _share(value: float) -> float:
    return min(max(value, 0.0), 1.0)


def note_error(task: Task) -> str:
    return f"{_measured(task)} {what_is_wrong(task)}"


def _measured(task: Task) -> str:
    terms = task.terms
    if not terms.mechanism().evaluates:
        return say("Not measured: in this task no check-in evaluates.")
    if not terms.promise.roles:
        said = say("How often the model of the moment was wrong on the devices’ own new samples.")
        if not terms.promise.exact:
            said += " " + say("Devices send these counts with noise.")
    elif terms.collection.checkins == 1:
        said = say("How often the model of the moment was wrong for people who did not train it.")
    else:
        said = say("How often the model of the moment was wrong on samples that did not train it.")
    return f"{said} {say('The truth lies in the band with 95 % confidence.')}"


def say_error(facts: Facts) -> str:
    error = words.estimate(Performance(facts).error)
    return f"{error}, {words.counted(facts.statistics.version, 'check-in')}"


ERROR = Chart(
    lambda task: say("Error"),
    note_error,
    say_error,
    ("checkins", "recent_error", "recent_margin", "error_since_start"),
    error_rows,
    draw_error,
)

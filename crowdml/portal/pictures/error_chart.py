"""Define the chart of the exported model's error at each version, beside the error of guessing."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from crowdml.portal.pictures.chart import Chart, not_yet, thin, uncertain
from crowdml.portal.pictures.drawing import (
    Theme,
    figure,
    in_percent,
    in_whole_numbers,
    legend,
    tidy,
)
from crowdml.portal.words import Performance, TaskNumbers, say, what_is_wrong
from crowdml.portal.words import plain as words
from crowdml.protocol import Task

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Row = tuple[float, float, float]


def error_rows(numbers: TaskNumbers) -> list[Row]:
    """Return rows of the number of check-ins, the exported model's error then, and its margin."""
    return [(point.version, point.value, point.margin) for point in numbers.history.errors]


def draw_error(numbers: TaskNumbers, theme: Theme) -> "Figure":
    rows = thin(error_rows(numbers))
    picture, axes = figure(theme)
    _band(axes, rows, theme, say("model"))
    guess, target = Performance(numbers).guess, numbers.task.stop.error
    if guess is not None:
        low, high = guess.error.low, guess.error.high
        axes.axhspan(low, high, color=theme.other, alpha=0.12, linewidth=0)
        axes.axhline((low + high) / 2, color=theme.other, linestyle=":", label=say("guessing"))
    start = numbers.task.start
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


def no_error(numbers: TaskNumbers) -> str:
    """Explain why there is no curve; empty if there is one."""
    if error_rows(numbers):
        return ""
    if not numbers.task.terms.mechanism().evaluates:
        return _measured(numbers.task)
    return uncertain(numbers) if numbers.statistics.version else not_yet(numbers)


def draw_spark(numbers: TaskNumbers, theme: Theme) -> "Figure":
    """Draw the error as a small curve without axes, for lists."""
    rows = thin(error_rows(numbers))
    picture, axes = figure(theme, width=2.2, height=0.5)
    picture.set_layout_engine("none")
    axes.set_position((0.0, 0.0, 1.0, 1.0))
    axes.margins(x=0.0)
    axes.set_axis_off()
    axes.set_ylim(-0.05, 1.05)
    if rows:
        _band(axes, rows, theme)
    else:
        axes.axhline(0.5, color=theme.faint, linewidth=1, linestyle=":")
    return picture


def _band(axes: "Axes", rows: Sequence[Row], theme: Theme, label: str = "") -> None:
    x = [row[0] for row in rows]
    low, high = ([_share(row[1] + sign * row[2]) for row in rows] for sign in (-1, 1))
    axes.fill_between(x, low, high, color=theme.accent, alpha=0.22, linewidth=0)
    middle, marker = [_share(row[1]) for row in rows], "o" if len(rows) == 1 else ""
    axes.plot(x, middle, color=theme.accent, label=label, marker=marker, clip_on=False)


def _share(value: float) -> float:
    return min(max(value, 0.0), 1.0)


def note_error(task: Task) -> str:
    return f"{_measured(task)} {what_is_wrong(task)}"


def _measured(task: Task) -> str:
    terms = task.terms
    if not terms.mechanism().evaluates:
        return say("Not measured: in this task no check-in evaluates.")
    if not terms.promise.roles:
        said = say("How often the model was wrong on the devices’ own new samples.")
        if not terms.promise.exact:
            said += " " + say("Devices send these counts with noise.")
    elif terms.collection.checkins == 1:
        said = say("How often the model was wrong for people who did not train it.")
    else:
        said = say("How often the model was wrong on samples that did not train it.")
    band = say(
        "The curve is about the model that people download and try here, as it was after that "
        "number of check-ins. In simulations the band contained the model’s error at least 94 "
        "times in 100: it allows for luck, for differences between people, and for what the model "
        "has learnt since the reports."
    )
    return f"{said} {band}"


def say_error(numbers: TaskNumbers) -> str:
    error = words.error(Performance(numbers).error)
    return f"{error}, {words.say_count(numbers.statistics.version, 'check-in')}"


ERROR = Chart(
    lambda task: say("Error"),
    note_error,
    say_error,
    ("checkins", "error", "margin"),
    error_rows,
    no_error,
    draw_error,
)

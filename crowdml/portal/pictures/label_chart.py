"""Define the chart of how the crowd's samples divide over the labels."""

from typing import TYPE_CHECKING

from crowdml.portal.pictures.chart import Chart, not_yet, uncertain
from crowdml.portal.pictures.drawing import Theme, figure, in_percent, tidy
from crowdml.portal.words import TaskNumbers, label_shares, say, top_shares
from crowdml.portal.words import plain as words
from crowdml.protocol import Estimate, Task, is_precise_enough

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LONGEST_LABEL = 18


def draw_labels(numbers: TaskNumbers, theme: Theme) -> "Figure":
    shares = top_shares(numbers.task, numbers.statistics)
    picture, axes = figure(theme)
    names = [_short(share.label) for share in shares]
    value = [share.value for share in shares]
    below = [min(share.margin, share.value) for share in shares]
    above = [min(share.margin, 1 - share.value) for share in shares]
    # Pale bars, on which the lines can be seen in both schemes.
    axes.barh(names, value, color=theme.accent, alpha=0.45)
    axes.errorbar(value, names, xerr=(below, above), fmt="none", ecolor=theme.text, capsize=3)
    axes.invert_yaxis()
    axes.set_xlim(0, 1)
    in_percent(axes.xaxis)
    axes.set_xlabel(say("share of samples"))
    return tidy(picture, axes, grid="x")


def no_labels(numbers: TaskNumbers) -> str:
    """Explain why there are no shares to draw; empty if there are.

    If even the share of the most frequent label may be zero, no bar is drawn.
    """
    shares = label_shares(numbers.task, numbers.statistics)
    if not numbers.task.terms.mechanism().counts_labels:
        return note_labels(numbers.task)
    if not shares:
        return not_yet(numbers)
    top = max(shares, key=lambda share: share.value)
    known = is_precise_enough(Estimate(top.value, top.margin)) and top.value > top.margin
    return "" if known else uncertain(numbers)


def _short(label: str) -> str:
    return label if len(label) <= LONGEST_LABEL else label[: LONGEST_LABEL - 1] + "…"


def note_labels(task: Task) -> str:
    promise = task.terms.promise
    if not task.terms.mechanism().counts_labels:
        return say("Not counted: in this task no check-in counts answers.")
    if promise.roles:
        said = say("From the check-ins that count answers, made to add up to 100 %.")
    elif not promise.exact:
        said = say("From noisy counts, made to add up to 100 %.")
    else:
        return say(
            "Counted exactly. The lines show how large each share could be in a larger group, with "
            "95 % confidence."
        )
    return said + " " + say("The truth lies within the lines with 95 % confidence.")


def say_labels(numbers: TaskNumbers) -> str:
    shares = [
        f"{share.label} {words.estimate(Estimate(share.value, share.margin))}"
        for share in top_shares(numbers.task, numbers.statistics)
    ]
    return ", ".join(shares)


LABELS = Chart(
    lambda task: say("Answers"),
    note_labels,
    say_labels,
    ("label", "share", "estimate", "margin"),
    lambda numbers: label_shares(numbers.task, numbers.statistics),
    no_labels,
    draw_labels,
)

"""Define a chart: its words, its numbers, and its drawing by Matplotlib."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from crowdml.portal.pictures.drawing import Theme, empty
from crowdml.portal.words import TaskNumbers, say
from crowdml.protocol import Task

if TYPE_CHECKING:
    from matplotlib.figure import Figure

T = TypeVar("T")
MOST_DRAWN = 80
"""The most points of a curve: more cannot be distinguished on a phone, and make it slow."""


class Chart(NamedTuple):
    """Describe one chart.

    Args:
        note: How to read it.
        says: What it shows, in words, for people who do not see it.
        nothing: A sentence in place of the picture; empty if there is something to draw.
    """

    title: Callable[[Task], str]
    note: Callable[[Task], str]
    says: Callable[[TaskNumbers], str]
    columns: tuple[str, ...]
    rows: "Callable[[TaskNumbers], Sequence[tuple[float | str, ...]]]"
    nothing: Callable[[TaskNumbers], str]
    draw: "Callable[[TaskNumbers, Theme], Figure]"

    def alt(self, numbers: TaskNumbers) -> str:
        return self.nothing(numbers) or f"{self.title(numbers.task)}: {self.says(numbers)}"

    def picture(self, numbers: TaskNumbers, theme: Theme) -> "Figure":
        """Draw the chart, or the sentence that stands in its place."""
        nothing = self.nothing(numbers)
        return empty(theme, nothing) if nothing else self.draw(numbers, theme)


def thin(rows: Sequence[T], most: int = MOST_DRAWN) -> Sequence[T]:
    """Pick rows that are spread evenly, the newest among them.

    >>> thin(range(10), most=4)
    [0, 3, 6, 9]
    """
    if len(rows) <= most:
        return rows
    return [rows[round(k * (len(rows) - 1) / (most - 1))] for k in range(most)]


def not_yet(numbers: TaskNumbers) -> str:
    """Explain why there is nothing to draw yet, or why there never was in an ended task."""
    if numbers.statistics.state.final:
        return say("Not measured." if numbers.statistics.version else "There were no check-ins.")
    return say("Not measured yet." if numbers.statistics.version else "No check-ins yet.")


def uncertain(numbers: TaskNumbers) -> str:
    """Explain that the numbers are too uncertain to draw; an ended task gets no more check-ins."""
    if numbers.statistics.state.final:
        return say("Too uncertain to say: there were too few check-ins.")
    return say("Too uncertain to say: it needs more check-ins.")

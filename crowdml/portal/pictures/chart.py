"""A chart: what it says, its numbers, and its drawing by Matplotlib."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from crowdml.portal.pictures.drawing import Theme, empty
from crowdml.portal.words import Facts, say
from crowdml.protocol import Task

if TYPE_CHECKING:
    from matplotlib.figure import Figure

T = TypeVar("T")
MOST_DRAWN = 80
"""Points of a curve: more cannot be told apart on a phone, and weigh on it."""


class Chart(NamedTuple):
    """One chart; `note` is how to read it, `says` what it shows, for those who do not see it."""

    title: Callable[[Task], str]
    note: Callable[[Task], str]
    says: Callable[[Facts], str]
    columns: tuple[str, ...]
    rows: "Callable[[Facts], Sequence[tuple[float | str, ...]]]"
    draw: "Callable[[Facts, Theme], Figure]"

    def alt(self, facts: Facts) -> str:
        return f"{self.title(facts.task)}: {self.says(facts)}"


def thin(rows: Sequence[T], most: int = MOST_DRAWN) -> Sequence[T]:
    """Some of the rows, spread evenly, with the newest among them.

    >>> thin(range(10), most=4)
    [0, 3, 6, 9]
    """
    if len(rows) <= most:
        return rows
    return [rows[round(k * (len(rows) - 1) / (most - 1))] for k in range(most)]


def nothing(facts: Facts, theme: Theme) -> "Figure":
    """Instead of a chart that has nothing to show."""
    return empty(theme, say("Not measured yet" if facts.statistics.version else "No check-ins yet"))


def uncertain(theme: Theme) -> "Figure":
    """Instead of a chart whose answer cannot be told from chance."""
    return empty(theme, say("Too uncertain so far:\nmore check-ins are needed."))

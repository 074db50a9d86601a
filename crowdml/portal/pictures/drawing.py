"""Draw with Matplotlib in the portal's colours, light and dark, as SVG or PNG."""

import io
from contextlib import AbstractContextManager
from textwrap import fill
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, cast

from crowdml.portal.words import localize_number
from crowdml.portal.words import plain as words

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure
    from matplotlib.projections.polar import PolarAxes


class Theme(NamedTuple):
    background: str
    text: str
    faint: str
    grid: str
    accent: str
    other: str
    good: str


THEMES = {
    "light": Theme("#ffffff", "#1d2733", "#7a8794", "#e3e8ed", "#1763b0", "#b5480f", "#1b7f4b"),
    "dark": Theme("#171d24", "#dde5ec", "#8d99a6", "#2c3640", "#6cb2f5", "#f0a06a", "#5fcf97"),
}

SETTINGS: Any = {
    "font.family": "sans-serif",
    "font.sans-serif": ["system-ui", "DejaVu Sans"],
    "font.size": 13,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
    "lines.linewidth": 1.8,
    "svg.fonttype": "none",
    "svg.hashsalt": "crowdml",
    "text.parse_math": False,
}


ACROSS, MOST_TICKS = 34, 6
"""Characters that fit side by side below a picture, and the most ticks of an axis."""


def figure(theme: Theme, width: float = 4.8, height: float = 2.7) -> "tuple[Figure, Axes]":
    from matplotlib.figure import Figure

    with _colours(theme):
        picture = Figure((width, height), layout="constrained", facecolor="none")
        return picture, picture.add_subplot()


def dials(theme: Theme, titles: tuple[str, str]) -> "tuple[Figure, list[PolarAxes]]":
    """Make two round faces side by side, with the angle 0 on top."""
    from matplotlib.figure import Figure

    with _colours(theme):
        picture = Figure((4.8, 2.8), facecolor="none")
        faces = [
            cast("PolarAxes", picture.add_axes((left, 0.01, 0.47, 0.84), projection="polar"))
            for left in (0.01, 0.52)
        ]
    for axes, title in zip(faces, titles, strict=True):
        axes.text(
            0.5, 1.03, title, transform=axes.transAxes, ha="center", color=theme.text, fontsize=13
        )
        axes.set_theta_zero_location("N")
        axes.set_ylim(0, 1.25)
        axes.set_axis_off()
    return picture, faces


def _colours(theme: Theme) -> "AbstractContextManager[None]":
    import matplotlib

    text = dict.fromkeys(
        ("text.color", "axes.labelcolor", "xtick.color", "ytick.color"), theme.text
    )
    rest = {"axes.edgecolor": theme.faint, "axes.facecolor": "none"}
    return matplotlib.rc_context(SETTINGS | text | rest)


def legend(picture: "Figure", theme: Theme) -> None:
    """Put the legend above the axes, where it covers no curve."""
    picture.legend(
        loc="outside upper left",
        ncols=3,
        frameon=False,
        labelcolor=theme.text,
        fontsize=12,
        borderaxespad=0,
        columnspacing=1.2,
        handlelength=1.4,
    )


def in_whole_numbers(axis: "Axis") -> None:
    """Write whole numbers at ticks whose labels stay apart: set the limits of the axis first."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    longest = len(words.count(round(axis.get_view_interval()[1])))
    room = ACROSS // (longest + 2) if axis is axis.axes.xaxis else MOST_TICKS
    axis.set_major_locator(MaxNLocator(max(1, min(room, MOST_TICKS)), integer=True))
    axis.set_major_formatter(FuncFormatter(lambda value, place: words.count(round(value))))


def in_decimals(axis: "Axis") -> None:
    """Write numbers with the decimal sign of the reader's language."""
    axis.set_major_formatter(lambda value, place: localize_number(f"{value:g}").replace("-", "−"))


def in_percent(axis: "Axis") -> None:
    axis.set_major_formatter(lambda value, place: words.percent(value))


def tidy(picture: "Figure", axes: "Axes", grid: Literal["x", "y"] = "y") -> "Figure":
    axes.grid(axis=grid, alpha=0.35, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.margins(x=0.01)
    return picture


def empty(theme: Theme, text: str) -> "Figure":
    picture, axes = figure(theme)
    axes.set_axis_off()
    axes.text(0.5, 0.5, fill(text, 40), ha="center", va="center", color=theme.faint, fontsize=13)
    return picture


def save(picture: "Figure", format: str, theme: Theme, title: str = "") -> bytes:
    """Save a transparent SVG for a page, or a PNG on the theme's background for a download.

    An SVG contains its title, so that a page that reloads the picture can say what it shows.
    """
    import matplotlib

    buffer = io.BytesIO()
    with matplotlib.rc_context(SETTINGS):
        if format == "svg":
            about: dict[str, Any] = dict.fromkeys(("Date", "Creator", "Format", "Type"))
            about |= {"Title": title} if title else {}
            picture.savefig(buffer, format="svg", metadata=about)
        else:
            picture.savefig(buffer, format="png", dpi=300, facecolor=theme.background)
    return buffer.getvalue()

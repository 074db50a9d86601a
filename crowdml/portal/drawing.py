"""Matplotlib in the portal's colours, light and dark, as SVG or PNG."""

import io
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["NOTHING", "THEMES", "Theme", "empty", "figure", "head", "save", "tidy"]


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

NOTHING = "No check-ins yet"
SETTINGS: Any = {
    "font.family": "sans-serif",
    "font.sans-serif": ["system-ui", "DejaVu Sans"],
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
    "lines.linewidth": 1.8,
    "svg.fonttype": "path",
    "svg.hashsalt": "crowdml",
    "text.parse_math": False,
}


def figure(theme: Theme, width: float = 4.8, height: float = 2.5) -> "tuple[Figure, Axes]":
    import matplotlib
    from matplotlib.figure import Figure

    colours = {
        "text.color": theme.text,
        "axes.labelcolor": theme.text,
        "axes.edgecolor": theme.faint,
    }
    colours |= {"xtick.color": theme.text, "ytick.color": theme.text, "axes.facecolor": "none"}
    with matplotlib.rc_context(SETTINGS | colours):
        picture = Figure(figsize=(width, height), layout="constrained", facecolor="none")
        return picture, picture.add_subplot()


def head(picture: "Figure", text: str, theme: Theme) -> None:
    """A title that begins at the left edge, so that a long one fits."""
    picture.suptitle(text, x=0.01, ha="left", fontsize=10, color=theme.text)


def tidy(picture: "Figure", axes: "Axes") -> "Figure":
    axes.grid(axis="y", alpha=0.35, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.margins(x=0.01)
    return picture


def empty(theme: Theme, text: str = NOTHING) -> "Figure":
    picture, axes = figure(theme)
    axes.set_axis_off()
    axes.text(0.5, 0.5, text, ha="center", va="center", color=theme.faint, fontsize=13)
    return picture


def save(picture: "Figure", format: str, theme: Theme) -> bytes:
    """SVG to be shown on a page, see-through; PNG to be kept, on the theme's own background."""
    import matplotlib

    buffer = io.BytesIO()
    with matplotlib.rc_context(SETTINGS):
        if format == "svg":
            picture.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
        else:
            picture.savefig(buffer, format="png", dpi=300, facecolor=theme.background)
    return buffer.getvalue()

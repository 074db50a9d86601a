"""Draw figures in the paper's axes: our curves as lines, the paper's values as diamonds."""

import io
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter

from crowdml.privacy import Unit
from crowdml.protocol import MECHANISMS
from crowdml.reproduction.analysis import Analysis, Measured
from crowdml.reproduction.figure import Figure, FigureLine
from crowdml.reproduction.three_mechanisms import EPSILONS, DatasetResults

INK = "#1b1f24"
"""The colour of text, which becomes the colour of the page's text in SVG, light or dark."""

# The colours of Okabe and Ito, which colour-blind readers can distinguish, slightly changed so that
# they are visible on white and on black.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#c99700", "#56a0d3", "#8a6bbf", "#808080")
WIDTH = 5.2
NO_METADATA = dict.fromkeys(("Creator", "Date", "Format", "Type"))
STYLE: Any = {
    "font.size": 10,
    "font.family": "DejaVu Sans",
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "grid.color": "#808080",
    "grid.alpha": 0.25,
    "legend.frameon": False,
    "legend.fontsize": 9,
    "svg.fonttype": "path",
    **dict.fromkeys(
        ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color"), INK
    ),
}


def draw_figure(figure: Figure) -> Canvas:
    """Draw one panel, or one panel for each b, below each other."""
    panels = list(dict.fromkeys(line.plan.panel for line in figure.lines))
    rows = -(-len(figure.lines) // len(panels) // 2) + 1
    with mpl.rc_context(STYLE):
        height = (2.7 + 0.2 * rows) * len(panels) + 0.3
        canvas = Canvas(figsize=(WIDTH, height), layout="constrained")
        for number, panel in enumerate(panels, start=1):
            axes = canvas.add_subplot(len(panels), 1, number)
            _draw_panel(axes, figure, [line for line in figure.lines if line.plan.panel == panel])
            axes.set_title(panel, fontsize=10, loc="left")
    return canvas


def draw_beyond(found: dict[str, DatasetResults], batch: int = 60) -> Canvas:
    """Draw error against ε for each mechanism, with a panel for each data set."""
    with mpl.rc_context(STYLE):
        canvas = Canvas(figsize=(WIDTH * 1.6, 3.2), layout="constrained")
        for number, (name, each) in enumerate(found.items(), start=1):
            axes = canvas.add_subplot(1, len(found), number)
            mechanisms = dict.fromkeys(row.mechanism for row in each.rows)
            for colour, mechanism in zip(COLOURS, mechanisms, strict=False):
                rows = [r for r in each.rows if (r.mechanism, r.batch) == (mechanism, batch)]
                whole = MECHANISMS[mechanism].unit is Unit.CHECKIN
                whom = "person" if whole else "sample"
                axes.errorbar(
                    [row.epsilon for row in rows],
                    [row.mean for row in rows],
                    [row.std for row in rows],
                    color=colour, marker="o", ms=4, lw=1.6, label=f"{mechanism}: for each {whom}",
                )  # fmt: skip
            axes.axhline(each.guess, color=COLOURS[-1], ls=":", lw=1.2, label="guessing")
            axes.axhline(
                each.central, color=COLOURS[-1], ls="--", lw=1.2, label="all data in one place"
            )
            axes.set_xscale("log")
            axes.set_xticks(EPSILONS, [f"{epsilon:g}" for epsilon in EPSILONS])
            axes.minorticks_off()
            axes.set_ylim(0, 1)
            axes.set_xlabel("ε")
            axes.set_ylabel("test error" if number == 1 else "")
            axes.set_title(f"{name}, b = {batch}", fontsize=10, loc="left")
        handles, labels = axes.get_legend_handles_labels()
        canvas.legend(handles, labels, loc="outside lower center", ncols=3)
    return canvas


def _draw_panel(axes: Axes, figure: Figure, lines: list[FigureLine]) -> None:
    for colour, line in zip(COLOURS, lines, strict=False):
        style = "--" if line.plan.approach.startswith("central") else "-"
        axes.plot(line.samples, line.mean, style, color=colour, label=line.plan.label, lw=1.6)
        low = [m - s for m, s in zip(line.mean, line.std, strict=True)]
        high = [m + s for m, s in zip(line.mean, line.std, strict=True)]
        axes.fill_between(line.samples, low, high, color=colour, alpha=0.18, lw=0)
        if figure.plan.beside and figure.plan.measure == "test":
            if line.paper_value is not None:
                axes.axhline(line.paper_value, color=colour, lw=1.1, ls=":")
            continue
        for value in line.paper:
            if value.samples > line.samples[-1]:
                continue
            shade = INK if figure.plan.measure == "online" else colour
            half = (value.high - value.low) / 2
            axes.errorbar(
                value.samples, value.error, half or None,
                fmt="D", ms=6, mfc="none", mec=shade, ecolor=shade, mew=1.4, zorder=5,
                clip_on=False,
            )  # fmt: skip
    highest = max(max(line.mean) for line in lines)
    axes.set_ylim(0.0, 1.0 if highest > 0.5 else 0.6)
    axes.set_xlim(0, lines[0].samples[-1])
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:,.0f}"))
    axes.locator_params(axis="x", nbins=6)
    axes.set_xlabel("iteration (samples used)")
    online = figure.plan.measure == "online"
    axes.set_ylabel("time-averaged error" if online else "test error")
    handles, labels = axes.get_legend_handles_labels()
    if figure.plan.beside and not online:
        handles.append(Line2D([], [], color=INK, ls=":", lw=1.1))
        labels.append("paper, five passes")
    else:
        handles.append(Line2D([], [], color=INK, ls="none", marker="D", ms=6, mfc="none", mew=1.4))
        labels.append("paper")
    axes.legend(handles, labels, ncols=2, loc="upper center", bbox_to_anchor=(0.46, -0.2))


def draw_analysis(analysis: Analysis) -> dict[str, Canvas]:
    """Draw noise, bytes and staleness, each on logarithmic axes."""
    b = "minibatch size b"
    parameters = f"E‖g‖²/b + 32·{analysis.n_classes}·{analysis.n_features}/(bε)²"
    return {
        "noise": _measured({"": analysis.noise}, b, "E‖ĝ‖²", parameters),
        "bytes": _measured(
            {"": analysis.bytes_per_sample}, b, "bytes per sample", "2·4·C·D/b", analysis.raw_bytes
        ),
        "staleness": _measured(
            analysis.staleness, "longest delay τ (Δ)", "updates missed", "(τ/2 + τ/2)·M·Fₛ/b"
        ),
    }


def _measured(
    series: dict[str, tuple[Measured, ...]], x: str, y: str, formula: str, raw: float | None = None
) -> Canvas:
    with mpl.rc_context(STYLE):
        canvas = Canvas(figsize=(WIDTH, 3.5), layout="constrained")
        axes = canvas.add_subplot()
        for colour, (name, rows) in zip(COLOURS, series.items(), strict=False):
            at = [row.x for row in rows]
            prefix = f"{name}: " if name else ""
            axes.plot(at, [row.predicted for row in rows], "--", color=colour, lw=1.4,
                      label=f"{prefix}{formula}")  # fmt: skip
            axes.plot(at, [row.measured for row in rows], "o", color=colour, ms=5,
                      label=f"{prefix}measured")  # fmt: skip
        if raw is not None:
            axes.axhline(raw, color=COLOURS[1], lw=1.2, ls=":", label="the sample itself")
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
        axes.set_xlabel(x)
        axes.set_ylabel(y)
        axes.legend(ncols=min(2, len(series)), loc="upper center", bbox_to_anchor=(0.46, -0.2))
    return canvas


def to_png(canvas: Canvas) -> bytes:
    file = io.BytesIO()
    canvas.savefig(file, format="png", dpi=160, facecolor="white")
    return file.getvalue()


def to_svg(canvas: Canvas, name: str) -> str:
    """Make an SVG for a page: no background, the page's text colour, ids that differ by figure."""
    file = io.StringIO()
    with mpl.rc_context({**STYLE, "svg.hashsalt": name}):
        canvas.savefig(file, format="svg", transparent=True, metadata=NO_METADATA)
    text = file.getvalue()
    return text[text.index("<svg") :].replace(INK, "currentColor")

"""Draw an audit: what was proved of each claim."""

from matplotlib.figure import Figure

from crowdml.checks.audit import Audit
from crowdml.simulation import COLOURS, NotebookFigure


def draw_audit(audit: Audit, title: str) -> Figure:
    """Draw a bar for each part, and a line at its claim: no bar may cross its line.

    A bar is pale if it could not have reached its line.
    """
    parts = list(audit.parts.items())[::-1]
    figure = NotebookFigure(7.0, 1.2 + 0.4 * len(parts))
    axes = figure.add_subplot()
    for row, (_, finding) in enumerate(parts):
        colour = COLOURS[1] if finding.broken else COLOURS[0]
        alpha = 0.3 if finding.undecided else 1.0
        axes.barh(row, finding.lower_bound, height=0.6, color=colour, alpha=alpha)
        axes.vlines(finding.claimed, row - 0.4, row + 0.4, color="black")
    axes.set_yticks(range(len(parts)), [name for name, _ in parts])
    at = f" at δ = {audit.delta:g}" if audit.delta else ""
    axes.set_xlabel(f"ε{at}: proved at least, and claimed")
    axes.set_xlim(left=0)
    axes.set_title(title)
    axes.spines[["top", "right"]].set_visible(False)
    return figure

"""Show results in a notebook: tables, data frames, and the progress of a simulation."""

import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from crowdml.errors import CrowdmlError

if TYPE_CHECKING:
    from pandas import DataFrame

UPDATE_SECONDS = 0.1
"""Seconds between two updates of a bar: more would not be seen."""

BAR_WIDTH = 40
START_OF_LINE, REST_OF_LINE = "\r", "\x1b[K"


def data_frame(columns: Mapping[str, Any]) -> "DataFrame":
    """Make a pandas data frame; only this function imports pandas."""
    try:
        from pandas import DataFrame
    except ModuleNotFoundError as error:
        raise CrowdmlError(
            f"a DataFrame needs {error.name}, which is not installed. Run: pip install pandas"
        ) from error
    return DataFrame(dict(columns))


def html_table(
    names: Sequence[str],
    rows: Iterable[Sequence[str]],
    sentences: Iterable[str] = (),
    marked: int | None = None,
) -> str:
    """Write an HTML table, with one row marked and a note below it.

    >>> html_table(["a"], [["<b>"]])
    '<table><thead><tr><th>a</th></tr></thead><tbody><tr><td>&lt;b&gt;</td></tr></tbody></table>'
    """
    head = "".join(f"<th>{escape(name)}</th>" for name in names)
    body = ""
    for number, row in enumerate(rows):
        begin = '<tr style="font-weight: bold">' if number == marked else "<tr>"
        body += begin + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>"
    below = "".join(f"<p>{escape(sentence)}</p>" for sentence in sentences)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{below}"


class ProgressBar:
    """Show the progress of a simulation in a notebook or a terminal; print nothing elsewhere.

        simulate(data, plans, progress=ProgressBar())

    It is drawn again each time, so there is nothing to close, and needs no widgets.
    """

    def __init__(self, what: str = "simulating") -> None:
        self._what = what
        self._drawn = 0.0
        self._display: Any = None

    def __call__(self, done: int, total: int) -> None:
        now = time.monotonic()
        if now - self._drawn < UPDATE_SECONDS and 0 < done < total:
            return
        self._drawn = now
        if _in_notebook():
            self._draw_html(done, total)
        elif sys.stderr.isatty():
            sys.stderr.write(START_OF_LINE + self._line(done, total) + REST_OF_LINE)
            sys.stderr.flush()

    def _line(self, done: int, total: int) -> str:
        if done >= total:
            return ""
        filled = BAR_WIDTH * done // total
        return f"{self._what} {'━' * filled}{'─' * (BAR_WIDTH - filled)} {done / total:.0%}"

    def _draw_html(self, done: int, total: int) -> None:
        from IPython.display import HTML, display

        bar = f'<progress value="{done}" max="{total}"></progress>'
        shown = HTML(f"{escape(self._what)} {bar} {done / max(total, 1):.0%}")
        if self._display is None:
            self._display = display(shown, display_id=True)
        else:
            self._display.update(shown)


def _in_notebook() -> bool:
    """Return whether this runs in a kernel, whose user sees what is displayed."""
    shell = sys.modules.get("IPython")
    return shell is not None and hasattr(shell.get_ipython(), "kernel")

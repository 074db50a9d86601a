"""Show in the terminal what the crowd is doing."""

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.table import Table

from crowdml.protocol import Statistics, Task, error_in_words

BARS = "▁▂▃▄▅▆▇█"


@dataclass
class Progress:
    """Hold what is known so far."""

    task: Task
    portal: str
    guess_error: float
    pilot_error: float | None = None
    started: float = field(default_factory=time.monotonic)
    statistics: Statistics | None = None
    errors: list[float] = field(default_factory=list)
    per_sample: float = 0.0
    per_person: float = 0.0
    central_error: float | None = None

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.started


@contextmanager
def show_live(progress: Progress, console: Console) -> Iterator[None]:
    """Redraw a few times a second on a terminal; elsewhere print a line from time to time."""
    if console.is_terminal:
        with Live(console=console, refresh_per_second=5, get_renderable=lambda: draw(progress)):
            yield
    else:
        yield


def line(progress: Progress) -> str:
    """Write the view as one line, for logs."""
    now = progress.statistics
    if now is None:
        return "starting"
    error = f"{progress.errors[-1]:.3f}" if progress.errors else "–"
    return (
        f"{progress.seconds:5.1f} s  {now.active_devices} of {now.devices} devices have checked "
        f"in, {now.version} of {now.max_updates} check-ins, test error {error}"
    )


def draw(progress: Progress) -> RenderableType:
    now = progress.statistics
    if now is None:
        return Panel("starting the server …", title="crowdml")
    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim", justify="right")
    table.add_column(min_width=46)
    rate = now.version / max(progress.seconds, 1e-9)
    table.add_row("devices", f"{now.devices} joined, {now.active_devices} have checked in")
    table.add_row("check-ins", f"{now.version} of {now.max_updates}  ({rate:.1f}/s)")
    table.add_row("", ProgressBar(total=now.max_updates, completed=now.version, width=44))
    table.add_row("estimated error", f"{error_in_words(now.error)}  the server cannot know more")
    table.add_row("true test error", _curve(progress.errors))
    if progress.pilot_error is not None:
        table.add_row("pilot alone", f"{progress.pilot_error:.3f}  where the model started")
    if progress.central_error is not None:
        table.add_row("central batch", f"{progress.central_error:.3f}  with all data in one place")
    table.add_row("guessing", f"{progress.guess_error:.3f}")
    table.add_row("ε so far", f"{_epsilon(progress)} by any person, in total")
    title = f"[bold]crowdml[/bold] · {progress.task.title}"
    return Group(Panel(table, title=title, subtitle=progress.portal, expand=False))


def _curve(errors: list[float], width: int = 36) -> str:
    """Draw the error so far, newest last, 0 at the bottom."""
    if not errors:
        return "–"
    step = max(1, math.ceil(len(errors) / width))
    points = errors[::-1][::step][::-1]
    top = max(*points, 0.05)
    bars = "".join(BARS[round((len(BARS) - 1) * error / top)] for error in points)
    return f"{errors[-1]:.3f}  {bars}"


def _epsilon(progress: Progress) -> str:
    value = progress.per_person
    shown = "∞" if math.isinf(value) else f"{value:g}"
    return shown if progress.task.terms.private else f"{shown} (NOT PRIVATE)"

"""Print the notes of `crowdml device run`, and read topics until somebody stops it."""

import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from crowdml.cli.extras import needs
from crowdml.cli.options import source_name
from crowdml.cli.output import count_of, say
from crowdml.device import Device, SourceCounts
from crowdml.device.sources import Hint, Intake, TopicAddress
from crowdml.errors import InvalidSample

SHOWN = 5
"""The most skipped samples that are printed; the others are counted."""

PROGRESS_SECONDS = 5.0


class RunNotes:
    """Print which samples are skipped, and from time to time how far a run is.

    Args:
        source: The name of the source in these lines.
    """

    def __init__(self, source: str) -> None:
        self._source = source
        self._skipped = 0
        self._hints: set[str] = set()
        self._next = time.monotonic() + PROGRESS_SECONDS

    def skip(self, error: InvalidSample) -> None:
        """Print one of the first wrong samples, and each hint once."""
        self._skipped += 1
        if self._skipped <= SHOWN:
            new = error.hint not in self._hints
            self._hints.add(error.hint)
            what = "" if isinstance(error, Hint) else "skipped a sample: "
            say(f"{what}{error if new else error.sentence}", err=True)

    def note(self, note: str) -> None:
        say(f"{self._source}: {note}", err=True)

    def line(self, counts: SourceCounts) -> None:
        """Print from time to time how many lines of a long source have been read."""
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + PROGRESS_SECONDS
            kept = count_of(counts.kept, "sample")
            skipped = f", {counts.skipped:,} skipped" if counts.skipped else ""
            self.note(f"at line {counts.lines:,}, {kept} kept{skipped}")

    def end(self) -> None:
        if self._skipped > SHOWN:
            say(f"… and {self._skipped - SHOWN:,} more", err=True)


GO_ON = Annotated[
    bool, typer.Option("--yes", help="Go on even if the first rows do not fit the task's units.")
]


def asking(yes: bool, source: str) -> Callable[[str], bool]:
    """Return a function that asks whether to go on; without a terminal, the answer is no."""

    def on_doubt(said: str) -> bool:
        if not yes and (source == "-" or not sys.stdin.isatty()):
            return False
        say(f"{source_name(source)}: {said}", err=True)
        return yes or typer.confirm("Go on, and spend ε on them?", err=True)

    return on_doubt


def run_topic(
    device: Device,
    address: TopicAddress,
    authorities: Path | None,
    discovery: bool,
    label: str | None,
    on_skip: Callable[[InvalidSample], None],
    on_note: Callable[[str], None],
    on_doubt: Callable[[str], bool] = lambda said: False,
    intake: Intake | None = None,
) -> SourceCounts:
    """Read a topic until Ctrl-C, SIGTERM, or the end of the task."""
    with needs("mqtt"):
        from crowdml.device.sources.mqtt import Broker, Discovery, client_of, listen
    client = client_of(device, address.topic)
    home = Discovery(client, device.identity.task) if discovery else None
    broker = Broker(address, client, authorities, home.availability if home else None)
    with asked_to_stop() as stop:
        return listen(
            device,
            broker,
            client,
            discovery=home,
            stopped=stop.is_set,
            label=label,
            intake=intake,
            on_skip=on_skip,
            on_note=on_note,
            on_doubt=on_doubt,
        )


@contextmanager
def asked_to_stop() -> Iterator[threading.Event]:
    """Set an event at the first signal, so that the current message is finished; a second kills."""
    stop = threading.Event()
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    def ask(number: int, frame: object) -> None:
        stop.set()
        restore()

    for number in before:
        signal.signal(number, ask)
    try:
        yield stop
    finally:
        restore()

"""Print the notes of `crowdml device run`, and read topics until somebody stops it."""

import math
import re
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from crowdml.cli.extras import require_extras
from crowdml.cli.output import counted, print_lines
from crowdml.device import Device, SourceCounts
from crowdml.device.sources import Hint, Intake, StateStream, TopicAddress, is_choice
from crowdml.errors import InvalidSample

MOST_SKIPPED_SHOWN = 5
"""The most skipped samples of a file that are printed; the others are counted."""

AGAIN_SECONDS = 3600.0
"""Seconds after which a live source's problem is printed again."""

MOST_KINDS = 100
"""The most different problems that are remembered."""

PROGRESS_SECONDS = 5.0

VALUE = re.compile(r"""'[^']*'|"[^"]*"|\d[\d.,]*""")
"""The quoted texts and numbers in which problems of one kind differ."""


class RunNotes:
    """Print which samples are skipped, and from time to time how far a run is.

    Args:
        source: The name of the source in these lines.
        live: Whether the source has no end: each different problem is printed once an hour.
    """

    def __init__(self, source: str, live: bool = False) -> None:
        self._source = source
        self._live = live
        self._said: dict[str, tuple[float, int]] = {}
        self._skipped = 0
        self._hints: set[str] = set()
        self._next = time.monotonic() + PROGRESS_SECONDS

    def skip(self, error: InvalidSample) -> None:
        """Print one of the first wrong samples, or each different problem of a live source.

        Each hint is printed once.
        """
        self._skipped += 1
        hidden = self._count_hidden(error.sentence) if self._live else 0
        if hidden is not None and (self._live or self._skipped <= MOST_SKIPPED_SHOWN):
            new = error.hint not in self._hints
            self._hints.add(error.hint)
            what = "" if isinstance(error, Hint) else "skipped a sample: "
            more = f" (and {hidden:,} like it)" if hidden else ""
            print_lines(f"{what}{error if new else error.sentence}{more}", err=True)

    def _count_hidden(self, sentence: str) -> int | None:
        """Return how many problems of this kind were not printed; None to go on counting."""
        kind = VALUE.sub("…", sentence)
        shown, count = self._said.pop(kind, (-math.inf, 0))
        now = time.monotonic()
        is_due = now - shown >= AGAIN_SECONDS
        if len(self._said) >= MOST_KINDS:
            del self._said[next(iter(self._said))]
        self._said[kind] = (now, 0) if is_due else (shown, count + 1)
        return count if is_due else None

    def note(self, note: str) -> None:
        print_lines(f"{self._source}: {note}", err=True)

    def line(self, counts: SourceCounts) -> None:
        """Print from time to time how many lines of a long source have been read."""
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + PROGRESS_SECONDS
            kept = counted(counts.kept, "sample")
            skipped = f", {counts.skipped:,} skipped" if counts.skipped else ""
            self.note(f"at line {counts.lines:,}, {kept} kept{skipped}")

    def end(self) -> None:
        if self._live:
            more = sum(count for _, count in self._said.values())
            if more:
                print_lines(f"… and {more:,} more like these", err=True)
        elif self._skipped > MOST_SKIPPED_SHOWN:
            print_lines(f"… and {self._skipped - MOST_SKIPPED_SHOWN:,} more", err=True)


GO_ON = Annotated[
    bool, typer.Option("--yes", help="Go on even if the first rows do not fit the task's units.")
]


def make_confirmation(yes: bool, source: str, name: str) -> Callable[[str], bool]:
    """Return a function that asks whether to go on; without a terminal, the answer is no.

    Args:
        name: The source's name in the question, without a secret.
    """

    def on_doubt(said: str) -> bool:
        if not yes and (source == "-" or not sys.stdin.isatty()):
            return False
        print_lines(f"{name}: {said}", err=True)
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
    with require_extras("mqtt"):
        from crowdml.device.sources.mqtt import Broker, Discovery, feed_from_topic, session_name
    client = session_name(device, address.topic)
    home = Discovery(client, device.identity.task) if discovery else None
    availability = home.availability if home else None
    keeps_state = is_choice if intake and isinstance(intake.format, StateStream) else None
    broker = Broker(address, client, authorities, availability, keeps_state=keeps_state)
    with asked_to_stop() as stop:
        return feed_from_topic(
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

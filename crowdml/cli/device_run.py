"""`crowdml device run` on a topic: from an address to a session, until somebody stops it."""

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from crowdml.cli.extras import needs
from crowdml.cli.options import source_name
from crowdml.cli.output import say
from crowdml.device import Device, Fed
from crowdml.device.sources import TopicAddress
from crowdml.errors import InvalidSample

GO_ON = Annotated[
    bool, typer.Option("--yes", help="Go on even if the first rows cannot be in the task's units.")
]


def asking(yes: bool, source: str) -> Callable[[str], bool]:
    """Ask whether to go on with doubtful rows; without anybody to ask, the answer is no."""

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
    on_doubt: Callable[[str], bool],
) -> Fed:
    """Read a topic until Ctrl-C, SIGTERM, or the end of the task."""
    with needs("mqtt"):
        from crowdml.device.sources.mqtt import Broker, Discovery, client_of, listen
    client = client_of(device, address.topic)
    home = Discovery(client, device.identity.task) if discovery else None
    broker = Broker(address, client, authorities, home.availability if home else None)
    with _asked_to_stop() as stop:
        return listen(
            device,
            broker,
            client,
            discovery=home,
            stopped=stop.is_set,
            label=label,
            on_skip=on_skip,
            on_note=on_note,
            on_doubt=on_doubt,
        )


@contextmanager
def _asked_to_stop() -> Iterator[threading.Event]:
    """Set by the first signal, so that a message is never left half done; a second one kills."""
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

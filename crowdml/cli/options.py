"""Options that several commands share, and what they open."""

import gc
import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from crowdml.cli.extras import needs
from crowdml.cli.ranges import ranged
from crowdml.errors import InvalidInput
from crowdml.tables import read_file

if TYPE_CHECKING:
    from crowdml.server import Store

DEFAULT_DATABASE = "sqlite:///crowdml.db"
DATABASES = "sqlite:///FILE, or postgresql://USER:PASSWORD@HOST/NAME"
DATABASE = Annotated[
    str, typer.Option(envvar="CROWDML_DATABASE", help=f"Where everything is kept: {DATABASES}.")
]
STDIN = Path("-")
LARGEST_TEXT = 2**24
JSON = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
SEED = Annotated[int, ranged("seed", "The same seed gives the same curves.")]
INSECURE_HTTP = Annotated[
    bool, typer.Option("--insecure-http", help="Allow plain HTTP beyond loopback.")
]
FINGERPRINT = Annotated[
    str | None, typer.Option(help="SHA-256 of the server's self-signed certificate.")
]
SOURCE = Annotated[
    str,
    typer.Option(
        envvar="CROWDML_SOURCE",
        help="A CSV or JSON-lines file, - for stdin, or mqtt://[USER:PASSWORD@]HOST[:PORT]/TOPIC. "
        "With --format also http://HOST:PORT to listen on, or phyphox://HOST:PORT.",
    ),
]
READINGS = Annotated[
    bool,
    typer.Option(
        "--readings",
        help="The source has sensor readings (time, reading or x, y, z, label), from which "
        "the features are computed as the task describes.",
    ),
]
CSV = Annotated[
    str | None,
    typer.Option(
        help="How a CSV file is written, if its first line does not show it: the sign between "
        "columns (, ; or tab), then the decimal sign, such as ';,'."
    ),
]
LABEL = Annotated[
    str | None,
    typer.Option(
        help="The column of the answer, where columns have names; usually y, label, target or "
        "answer. With --format: the answer at the start, as by `crowdml device label`."
    ),
]
DISCOVERY = Annotated[
    bool,
    typer.Option(
        "--discovery", help="Show the device, never a sample, in Home Assistant, over MQTT."
    ),
]
CA = Annotated[
    Path | None, typer.Option(help="Certificates to trust for mqtts://, not the system's.")
]
FORMAT = Annotated[
    str | None,
    typer.Option(
        help="The app whose messages the source has, from which the features are computed as the "
        "task describes: owntracks, phyphox, sensor-logger, statestream or termux."
    ),
]
EVERY = Annotated[
    float | None,
    ranged(
        "seconds",
        "With --format or --readings: seconds from one sample to the next, at least. What "
        "the task asks for counts if it is more.",
    ),
]
PER_SAMPLE = Annotated[
    float | None, ranged("epsilon", "Limit: the most ε that one sample may lose.")
]
PER_DEVICE = Annotated[
    float | None, ranged("epsilon", "Limit: the most ε that all check-ins may add up to.")
]


def open_store(database: str, create: bool = False) -> "closing[Store]":
    """The server's database, for as long as a `with` lasts; it must exist, or may be created."""
    with needs("server"):
        from crowdml.server import Store
    # Modules are not garbage. Without this, Python looks for garbage among them when the command
    # ends, which takes a quarter of the time of a short command. Once is enough for a process.
    if not gc.get_freeze_count():
        gc.freeze()
    return closing(Store(database, create))


def read_text(file: Path, what: str) -> str:
    """The text of a file, or of standard input, with its line ends as they are."""
    try:
        if file == STDIN:
            return sys.stdin.read(LARGEST_TEXT).removeprefix("\ufeff")
        data = read_file(file, f"the {what} file {file}", LARGEST_TEXT)
        return data.decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", error)
        raise InvalidInput(f"cannot read the {what} file {file}: {reason}.") from error


def source_name(source: str) -> str:
    """What messages call a source."""
    return "standard input" if source == "-" else source

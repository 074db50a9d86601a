"""Define the options that several commands share, and open the files and databases they name."""

import gc
import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from crowdml.cli.extras import require_extras
from crowdml.cli.ranges import in_range
from crowdml.errors import InvalidInput
from crowdml.tables import read_file

if TYPE_CHECKING:
    from crowdml.server import Store

DEFAULT_DATABASE = "sqlite:///crowdml.db"
DATABASES = "sqlite:///FILE, or postgresql://USER:PASSWORD@HOST/NAME"
DATABASE = Annotated[
    str, typer.Option(envvar="CROWDML_DATABASE", help=f"The server's database: {DATABASES}.")
]
STDIN = Path("-")
LARGEST_TEXT = 2**24
JSON = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
SEED = Annotated[int, in_range("seed", "The same seed gives the same curves.")]
INSECURE_HTTP = Annotated[
    bool, typer.Option("--insecure-http", help="Allow plain HTTP to other machines.")
]
FINGERPRINT = Annotated[
    str | None, typer.Option(help="The SHA-256 of the server's self-signed certificate.")
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
        help="The source has a sensor's readings (time, reading or x, y, z, label). The features "
        "are computed from them as the task describes.",
    ),
]
CSV = Annotated[
    str | None,
    typer.Option(
        help="The signs of a CSV file whose first line does not show them: the sign between "
        "columns (, ; or tab), then the decimal sign, such as ';,'."
    ),
]
LABEL = Annotated[
    str | None,
    typer.Option(
        help="The column with the label, where columns have names. By default y, label, target or "
        "answer. With --format: the first label, as `crowdml device label` sets it."
    ),
]
DISCOVERY = Annotated[
    bool,
    typer.Option(
        "--discovery", help="Show the device in Home Assistant over MQTT; samples are never shown."
    ),
]
CA = Annotated[
    Path | None,
    typer.Option(help="The certificates to trust for mqtts://, in place of the system's."),
]
FORMAT = Annotated[
    str | None,
    typer.Option(
        help="The app that sends the messages: owntracks, phyphox, sensor-logger, statestream or "
        "termux. The features are computed from them as the task describes."
    ),
]
EVERY = Annotated[
    float | None,
    in_range(
        "seconds",
        "With --format or --readings: the least seconds from one sample to the next. The task's "
        "own number counts if it is larger.",
    ),
]
DELAY = Annotated[
    float, in_range("staleness", "τ, the delay of each message, in samples of the whole crowd.")
]
SKEW = Annotated[
    float | None,
    in_range(
        "concentration",
        "How people differ in their labels: a Dirichlet concentration; less is more.",
    ),
]
PER_SAMPLE = Annotated[
    float | None, in_range("epsilon", "Your limit on the ε that one sample may lose.")
]
PER_DEVICE = Annotated[
    float | None, in_range("epsilon", "Your limit on the ε of all check-ins together.")
]


def open_store(database: str, create: bool = False) -> "closing[Store]":
    """Open the server's database for a `with` block; it must exist unless `create` is set."""
    with require_extras("server"):
        from crowdml.server import Store
    # Without this, Python looks for garbage among the modules when the command ends, which takes a
    # quarter of the time of a short command. Once per process is enough.
    if not gc.get_freeze_count():
        gc.freeze()
    return closing(Store(database, create))


def read_text(file: Path, what: str) -> str:
    """Read the text of a file or of standard input, with its line ends unchanged."""
    try:
        if file == STDIN:
            return sys.stdin.read(LARGEST_TEXT).removeprefix("\ufeff")
        data = read_file(file, f"the {what} file {file}", LARGEST_TEXT)
        return data.decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", error)
        raise InvalidInput(f"cannot read the {what} file {file}: {reason}.") from error


def source_name(source: str) -> str:
    """Return the name of a source for messages to people."""
    return "standard input" if source == "-" else source

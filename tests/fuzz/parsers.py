"""List every parser that reads bytes from outside, with the errors that it may raise.

A parser takes any bytes. It returns, or it raises an error that crowdml raises on purpose.
"""

import contextlib
import io
import math
from collections.abc import Callable, Iterable, Iterator
from types import SimpleNamespace
from typing import Any

import msgspec

from crowdml import one_file_device
from crowdml.device.contribution import read_errors
from crowdml.device.network.link import read_link
from crowdml.device.sources.address import (
    ListenAddress,
    is_address,
    read_address,
    read_listen_address,
    read_phone_address,
)
from crowdml.device.sources.feed import SourceCounts
from crowdml.device.sources.form import SampleForm
from crowdml.device.sources.formats import APP_FORMATS, Batch, JsonObjects, Phyphox, settings_link
from crowdml.device.sources.formats.batch import Format
from crowdml.device.sources.listener import LARGEST_MESSAGE, RequestHandler
from crowdml.device.sources.message_receiver import MessageReceiver
from crowdml.device.sources.recording import read_readings
from crowdml.device.sources.stream import Stream
from crowdml.errors import CrowdmlError
from crowdml.learnt import read_model, read_start
from crowdml.pilot import read_pilot
from crowdml.pilot.rows import read_rows
from crowdml.portal.pages.owner.form_parsing import parse_form, parse_upload
from crowdml.privacy import CheckinKey, Implausible
from crowdml.protocol import (
    Enrol,
    Features,
    Sensor,
    Task,
    Terms,
    checkin_type,
    decode_parameters,
    read_problem,
)
from crowdml.server.http.body import decode
from tests.support.servers import make_direction_task, make_task

NOISY, DIRECTED = make_task().terms, make_direction_task().terms
PARSERS: dict[str, Callable[[bytes], object]] = {}
"""The parsers by name; `tests/fuzz/corpus` has a folder of inputs for each."""
SENSED = Features(4, sensor=Sensor("light", rate=1, window=2, transform="summary"))
LABELS = ("night", "day")
ARRIVAL = 1_698_501_144_401_773_000
"""Nanoseconds since 1970 at which messages of sensor apps arrive."""

BETWEEN = b"\x1e"
"""The byte that separates the messages of one input; it is in no JSON text."""


def parser(function: Callable[[bytes], object]) -> Callable[[bytes], object]:
    PARSERS[function.__name__] = function
    return function


def enter(name: str, data: bytes) -> None:
    """Give the bytes to a parser; an error that is not crowdml's own is raised."""
    with contextlib.suppress(CrowdmlError, Implausible, one_file_device.DeviceError):
        PARSERS[name](data)


def lines(data: bytes) -> Iterator[str]:
    return iter(data.decode("utf-8", "replace").splitlines(keepends=True))


# What devices send to a server


@parser
def checkin(data: bytes) -> None:
    for terms in (NOISY, DIRECTED):
        mechanism = terms.mechanism()
        with contextlib.suppress(CrowdmlError, Implausible):
            message = decode(msgspec.json.Decoder(checkin_type(mechanism.payload_type)), data)
            mechanism.check(message, CheckinKey("", "", 1))


@parser
def enrolment(data: bytes) -> None:
    decode(msgspec.json.Decoder(Enrol), data)


# What owners send to a server


@parser
def task(data: bytes) -> None:
    Task.from_toml(data.decode("utf-8", "replace"))


@parser
def form(data: bytes) -> None:
    parse_form(data)
    parse_upload(data, "x")


@parser
def pilot(data: bytes) -> None:
    read_rows(read_pilot(data, "pilot.csv"))


@parser
def start(data: bytes) -> None:
    read_start(data, "start.npz")


# What a server sends to devices


@parser
def checkout(data: bytes) -> None:
    decode_parameters(data, max(1, len(data) // 4))


@parser
def terms(data: bytes) -> None:
    Terms.parse(data.decode("utf-8", "replace"))


@parser
def one_file_terms(data: bytes) -> None:
    one_file_device.Terms(data.decode("utf-8", "replace"), "activity")


@parser
def one_file_model(data: bytes) -> None:
    """Read what the one-file device checks out, in the JSON of the answer."""
    terms = one_file_device.Terms(DIRECTED.text, "activity")
    asked = SimpleNamespace(terms=terms, server=SimpleNamespace(), checkin_key=lambda number: "key")
    answer = {"Crowdml-Terms": terms.sha256}
    with contextlib.suppress(ValueError, RecursionError):  # as `Server.call` does
        document = one_file_device.read_json(data)
        asked.server.call = lambda method, path: (answer, document)
        one_file_device.Device.check_out(asked, 1)  # type: ignore[arg-type]


@parser
def one_file_statistics(data: bytes) -> None:
    """Read a task's statistics, and say what became of a check-in."""
    with contextlib.suppress(ValueError, RecursionError):  # as `Server.call` does
        document = one_file_device.read_json(data)
        now = one_file_device.read_statistics(document)
        assert now["error"] is None or now["error"]["margin"] >= 0
        one_file_device.describe_contribution([1, 3], now, [[1.0, 0.5, 0.1]])


@parser
def problem(data: bytes) -> None:
    read_problem(400, data)


@parser
def errors(data: bytes) -> None:
    for error in read_errors(data):
        assert error.version >= 0
        assert math.isfinite(error.value)
        assert not math.isnan(error.margin)


@parser
def model(data: bytes) -> None:
    read_model(data, "model.npz")


# What participants give to a device


@parser
def link(data: bytes) -> None:
    text = data.decode("utf-8", "replace")
    with contextlib.suppress(CrowdmlError):
        read_link(text)
    for read in (read_listen_address, read_phone_address):
        with contextlib.suppress(CrowdmlError):
            read(text)
    if is_address(text):
        read_address(text)


@parser
def csv_samples(data: bytes) -> None:
    list(SampleForm(names=("a", "b")).read_csv(lines(data), LABELS))


@parser
def json_samples(data: bytes) -> None:
    list(SampleForm().read_json_lines(lines(data), LABELS))


@parser
def readings(data: bytes) -> None:
    list(read_readings(lines(data), SENSED, LABELS))


@parser
def one_file_samples(data: bytes) -> None:
    terms = one_file_device.Terms(DIRECTED.text, "activity")
    layout = None
    for line in lines(data):
        layout = layout or one_file_device.Layout(terms, "-", line)
        layout.read(line)
        with contextlib.suppress(*one_file_device.NOT_A_SAMPLE):
            layout.sample(line)


# What sensor apps send to a device


def sensed(parser: Format, kind: str, batches: Iterable[Batch]) -> None:
    """Sort and label readings as a device does, and write down what it would remember."""
    sensor = Sensor(kind, rate=1, window=2, transform="summary")
    streams: dict[str, Stream] = {}
    for batch in batches:
        assert batch.stream.encode()
        stream = streams.setdefault(batch.stream, Stream(sensor, 4, parser.lateness))
        stream.accept(batch, lambda text: text or None, "day")
        for taken in stream.drain():
            assert all(math.isfinite(value) for each in taken for value in each.x)
        msgspec.msgpack.encode(stream.memory)
    for stream in streams.values():
        list(stream.drain(everything=True))


def batches_of(parser: Format, messages: Iterable[bytes], topic: str = "") -> Iterator[Batch]:
    for message in messages:
        with contextlib.suppress(CrowdmlError):
            yield parser.parse(message, ARRIVAL, topic)


@parser
def sensor_logger(data: bytes) -> None:
    for kind in sorted(APP_FORMATS["sensor-logger"].kinds):
        parser = APP_FORMATS["sensor-logger"](kind)
        sensed(parser, kind, batches_of(parser, data.split(BETWEEN)))


@parser
def termux(data: bytes) -> None:
    parser, objects = APP_FORMATS["termux"]("motion"), JsonObjects()
    found = [each.encode() for line in lines(data) for each in objects.feed(line)]
    sensed(parser, "motion", batches_of(parser, found))


@parser
def one_file_termux(data: bytes) -> None:
    for text in one_file_device.termux_objects(lines(data)):
        with contextlib.suppress(*one_file_device.NOT_A_SAMPLE):
            assert math.isfinite(one_file_device.termux_reading(text, "motion") or 0.0)


@parser
def phyphox(data: bytes) -> None:
    """Read the answer to /config, then answers to /get."""
    config, *answers = data.split(BETWEEN)
    for kind in sorted(Phyphox.kinds):
        parser = Phyphox(kind)
        with contextlib.suppress(CrowdmlError):
            parser.configure(config)
        sensed(parser, kind, batches_of(parser, answers))


@parser
def owntracks(data: bytes) -> None:
    parser = APP_FORMATS["owntracks"]("speed")
    sensed(parser, "speed", batches_of(parser, data.split(BETWEEN), "owntracks/ann/phone"))


@parser
def statestream(data: bytes) -> None:
    """Read a topic and its state, several times."""
    parser = APP_FORMATS["statestream"]("light")
    parts = data.split(BETWEEN)
    found: list[Batch] = []
    for topic, state in zip(parts[::2], parts[1::2], strict=False):
        found += batches_of(parser, [state], topic.decode("utf-8", "replace"))
    sensed(parser, "light", found)


class Connection:
    """Act as a connection that receives these bytes, and then nothing more."""

    def __init__(self, data: bytes) -> None:
        self.largest = 0
        self._data = data

    def makefile(self, mode: str, size: int) -> Any:
        if mode != "rb":
            return io.BytesIO()
        bytes_in = io.BytesIO(self._data)
        read = bytes_in.read

        def counting(size: int = -1) -> bytes:
            self.largest = max(self.largest, size)
            return read(size)

        return SimpleNamespace(
            read=counting, readline=bytes_in.readline, close=bytes_in.close, closed=False
        )

    def settimeout(self, seconds: float) -> None: ...

    def setsockopt(self, *option: int) -> None: ...


@parser
def request(data: bytes) -> None:
    """Read what comes on the port of a listening device: HTTP of any kind, or other bytes."""
    parser = APP_FORMATS["sensor-logger"]("motion")
    intake: Any = SimpleNamespace(
        doubt=None,
        counts=SourceCounts(0),
        take=lambda body: parser.parse(body, ARRIVAL),
        setup_link=lambda url: settings_link("motion", 20.0, url),
    )
    for secret in ({"path": "secret"}, {"user": "ann", "password": "p:w"}):
        address = ListenAddress("http", "127.0.0.1", 1, **secret)
        handler = type("Handler", (RequestHandler,), {"receiver": MessageReceiver(address, intake)})
        connection = Connection(data)
        handler(connection, ("127.0.0.1", 2), SimpleNamespace())
        assert connection.largest <= LARGEST_MESSAGE, "a longer body could fill the memory"

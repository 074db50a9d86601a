"""Every parser that reads bytes from outside, each with the errors that it may raise.

A door takes any bytes. It returns, or it raises an error that crowdml raises on purpose.
"""

import contextlib
from collections.abc import Callable, Iterator

import msgspec

from crowdml import one_file_device
from crowdml.device.link import read_link
from crowdml.device.sources.address import is_address, read_address
from crowdml.device.sources.form import SampleForm
from crowdml.device.sources.recording import read_readings
from crowdml.errors import CrowdmlError
from crowdml.learnt import read_model, read_start
from crowdml.pilot import read_pilot, read_rows
from crowdml.portal.pages.owner.posted import parse_form, parse_upload
from crowdml.privacy import Implausible, Place
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
from tests.servers import make_directed, make_task

__all__ = ["DOORS", "enter"]

NOISY, DIRECTED = make_task().terms, make_directed().terms
DOORS: dict[str, Callable[[bytes], object]] = {}
"""The doors by name; `tests/fuzz/corpus` has a folder of inputs for each."""
SENSED = Features(4, sensor=Sensor("light", rate=1, window=2, transform="summary"))
LABELS = ("night", "day")


def door(function: Callable[[bytes], object]) -> Callable[[bytes], object]:
    DOORS[function.__name__] = function
    return function


def enter(name: str, data: bytes) -> None:
    """Give the bytes to a door; an error that is not one of crowdml's own gets out."""
    with contextlib.suppress(CrowdmlError, Implausible, one_file_device.Problem):
        DOORS[name](data)


def lines(data: bytes) -> Iterator[str]:
    return iter(data.decode("utf-8", "replace").splitlines(keepends=True))


# What devices send to a server


@door
def checkin(data: bytes) -> None:
    for terms in (NOISY, DIRECTED):
        mechanism = terms.mechanism()
        with contextlib.suppress(CrowdmlError, Implausible):
            message = decode(msgspec.json.Decoder(checkin_type(mechanism.payload_type)), data)
            mechanism.check(message, Place("", "", 1))


@door
def enrolment(data: bytes) -> None:
    decode(msgspec.json.Decoder(Enrol), data)


# What owners send to a server


@door
def task(data: bytes) -> None:
    Task.from_toml(data.decode("utf-8", "replace"))


@door
def form(data: bytes) -> None:
    parse_form(data)
    parse_upload(data, "x")


@door
def pilot(data: bytes) -> None:
    read_rows(read_pilot(data, "pilot.csv"))


@door
def start(data: bytes) -> None:
    read_start(data, "start.npz")


# What a server sends to devices


@door
def checkout(data: bytes) -> None:
    decode_parameters(data, max(1, len(data) // 4))


@door
def terms(data: bytes) -> None:
    Terms.parse(data.decode("utf-8", "replace"))


@door
def one_file_terms(data: bytes) -> None:
    one_file_device.Terms(data.decode("utf-8", "replace"), "activity")


@door
def problem(data: bytes) -> None:
    read_problem(400, data)


@door
def model(data: bytes) -> None:
    read_model(data, "model.npz")


# What participants give to a device


@door
def link(data: bytes) -> None:
    text = data.decode("utf-8", "replace")
    with contextlib.suppress(CrowdmlError):
        read_link(text)
    if is_address(text):
        read_address(text)


@door
def csv_samples(data: bytes) -> None:
    list(SampleForm(names=("a", "b")).read_csv(lines(data), LABELS))


@door
def json_samples(data: bytes) -> None:
    list(SampleForm().read_json_lines(lines(data), LABELS))


@door
def readings(data: bytes) -> None:
    list(read_readings(lines(data), SENSED, LABELS))

"""Send one afternoon through each source into a real server, and compare with a CSV.

The CSV has the same readings. The one-file device reads Termux too; it computes in plain Python, so
its features may differ from the package's in the last digits.

Run: python experiments/sources/afternoon.py [SECONDS]
"""

import http.client
import io
import json
import math
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from crowdml import one_file_device
from crowdml.demo import ServerProcess
from crowdml.device import Device, DeviceStore, RetryTimer, feed, set_label
from crowdml.device.sources import (
    Intake,
    ListenAddress,
    Listener,
    PhyphoxPhone,
    Pipe,
    read_address,
    run_live,
)
from crowdml.privacy import Limits
from crowdml.protocol import Task
from crowdml.server import Store
from experiments.sources.apps import (
    LABELS,
    START,
    Message,
    Moment,
    PhyphoxApp,
    csv_of,
    over_a_bad_network,
    record,
    sensor_logger,
    termux_session,
)

TASK = f"""
name = "afternoon"
title = "Activity"
objective = "to tell four activities apart"
owner = "Jane Doe"
contact = "jane@example.org"
purpose = "an experiment"
sensors = "the accelerometer"
[features]
count = 12
description = "Spectrum of the acceleration over 3.2 seconds."
[features.sensor]
kind = "motion"
rate = 20
window = 64
first_bin = 0.1
every = 10
[target]
labels = {json.dumps(LABELS)}
[model]
kind = "softmax"
[privacy]
mechanism = "direction"
epsilon = 20.0
[collection]
batch = 10
checkins = 100
[stop]
updates = 100000
[enrolment]
checkins_per_minute = 1e6
"""
LOSS, TWICE, LATE = 0.02, 0.05, 0.1
"""Shares of Sensor Logger's messages that are lost, come twice, or come out of order."""


@dataclass(frozen=True)
class Result:
    """Hold what became of one afternoon.

    Args:
        samples: Features and label of each, as they were kept.
        checkins: Those that the server has answered.
        events: What each check-in cost, as the ledger has it; empty for the one-file device.
        epsilon: The ledger's total.
    """

    samples: list[tuple[bytes, float]]
    checkins: int
    events: list[str]
    epsilon: float

    def agrees(self, other: "Result") -> bool:
        """Return whether samples agree to nine digits, and check-ins and ε are the same."""
        ours, theirs = (np.array([np.frombuffer(x) for x, _ in r.samples]) for r in (self, other))
        return bool(
            [y for _, y in self.samples] == [y for _, y in other.samples]
            and np.allclose(ours, theirs, rtol=1e-9, atol=1e-9)
            and self.checkins == other.checkins
            and math.isclose(self.epsilon, other.epsilon)
        )


class Recorder(DeviceStore):
    """Open a device's file, and remember every sample that it has kept."""

    kept: list[tuple[bytes, float]]

    def add(self, x: Any, y: Any, most: Any, position: Any = None, durable: bool = False) -> Any:
        # The disk is not waited for: it makes no difference here, and two hours pass in minutes.
        summary = super().add(x, y, most, position, False)
        if summary is not None:
            self.kept.append((x.tobytes(), y))
        return summary


class SimulatedClock:
    """Return the time in the recording, in nanoseconds."""

    def __init__(self) -> None:
        self.ns = START

    def __call__(self) -> int:
        return self.ns


@contextmanager
def taking_part(folder: Path, url: str) -> Iterator[tuple[Device, Recorder, Callable[[], Result]]]:
    """Join with a device; return it, a connection for its samples, and what became of them."""
    file = folder / "device"
    retry_timer = RetryTimer(base=0.05, longest=0.2, slot=0.0)
    Device.join(url, "afternoon", file=file, limits=Limits(1e6, 1e6)).close()
    Recorder.kept = []
    with (
        closing(Recorder(file)) as store,
        Device(Recorder(file), retry_timer=retry_timer) as device,
    ):

        def result() -> Result:
            device.flush()
            events = [repr(event.loss) for event in device.ledger.events]
            spent = device.ledger.epsilon_spent
            return Result(Recorder.kept, device.n_answered, events, spent)

        yield device, store, result


def through_csv(folder: Path, url: str, moments: list[Moment]) -> Result:
    recording = folder / "recording.csv"
    folder.mkdir()
    recording.write_text(csv_of(moments))
    with taking_part(folder, url) as (device, _, result):
        feed(device, str(recording), readings=True)
        return result()


def through_http(folder: Path, url: str, messages: list[Message]) -> Result:
    """Let Sensor Logger post, and the device listen."""
    with taking_part(folder, url) as (device, store, result):
        intake = Intake(store, "sensor-logger")
        listener = Listener(ListenAddress("http", "127.0.0.1", 0, "secret"), intake)

        def post() -> None:
            app = http.client.HTTPConnection("127.0.0.1", listener.port)
            headers = {"Content-Type": "application/json"}
            for message in messages:
                while watched.n_samples >= 10:
                    time.sleep(0.001)  # two hours pass in seconds: leave time to check in
                app.request("POST", "/secret", message.body, headers)
                answer = app.getresponse()
                assert answer.status == 200, answer.read()
                answer.read()
            app.close()

        with closing(DeviceStore(folder / "device")) as watched, working(post) as working_on:
            run_live(device, intake, listener, lambda: not working_on.is_alive())
        return result()


def through_mqtt(folder: Path, url: str, source: str, publish: Callable[[], None]) -> Result:
    """Let Sensor Logger publish with QoS 0, and the device read the topic."""
    from crowdml.device.sources.mqtt import Broker, feed_from_topic, session_name

    with taking_part(folder, url) as (device, store, result):
        address = read_address(source)
        client, intake = session_name(device, address.topic), Intake(store, "sensor-logger")
        broker, quiet = Broker(address, client), [0, time.monotonic()]

        def done() -> bool:
            """Return whether no message has come for ten seconds after the first."""
            if intake.counts.lines != quiet[0]:
                quiet[:] = [intake.counts.lines, time.monotonic()]
            return bool(quiet[0]) and time.monotonic() - quiet[1] > 10

        with working(publish):
            feed_from_topic(device, broker, client, stopped=done, intake=intake)
        return result()


def through_termux(folder: Path, url: str, moments: list[Moment]) -> Result:
    """Let termux-sensor write into a pipe, and the person set labels by a command."""
    with taking_part(folder, url) as (device, store, result):
        clock = SimulatedClock()
        intake = Intake(store, "termux", clock=clock)

        def lines() -> Iterator[str]:
            before = Moment(0, 0.0, 0.0, 0.0, "")
            for moment, text in zip([None, *moments, None], termux_session(moments), strict=True):
                if moment:
                    if moment.label != before.label:
                        while intake.newest("termux") != before.ns:
                            time.sleep(0.001)  # the label is set now, not in the past
                        set_label(store, moment.label or None, moment.ns)
                    clock.ns, before = moment.ns, moment
                yield from text.splitlines(keepends=True)

        found = lines()
        run_live(device, intake, Pipe(lambda _: next(found, ""), intake), wait=60.0)
        return result()


def through_one_file(folder: Path, url: str, moments: list[Moment]) -> Result:
    """Let termux-sensor write into a pipe of `device.py`, which needs only Python."""
    folder.mkdir()
    file, kept = str(folder / "device.sqlite"), list[tuple[bytes, float]]()
    store, clock, n_read = one_file_device.DeviceStore(file), SimulatedClock(), [0]
    with redirect_stdout(io.StringIO()):  # the terms
        one_file_device.join(
            store, f"{url}/join/afternoon", "", "", yes=True, accept_no_privacy=True
        )

    class Recording(one_file_device.Device):
        def keep(self, sample: Any, place: Any, **changes: Any) -> bool:
            kept.append((np.array(sample[0]).tobytes(), sample[1]))
            return super().keep(sample, place, **changes)

    class Counting(one_file_device.Sensing):
        def push(self, *arguments: Any) -> Iterator[Any]:
            yield from super().push(*arguments)
            n_read[0] += 1

    def lines() -> Iterator[str]:
        other, label = one_file_device.Device(one_file_device.DeviceStore(file)), ""
        for n, text in enumerate(termux_session(moments)):
            if 0 < n <= len(moments):
                moment = moments[n - 1]
                if moment.label != label:
                    while n_read[0] < n - 1:
                        time.sleep(0.001)  # the label is set now, not in the past
                    other.set_label(moment.label or None)
                clock.ns, label = moment.ns, moment.label
            yield from text.splitlines(keepends=True)

    device = Recording(store)
    with mock.patch.object(one_file_device, "Sensing", Counting):
        device.sense(lines(), 0.0, clock=lambda: (clock.ns - START) / 1e9)
    ledger = store.read()["ledger"]
    answered = sum(entry["answer"] == "applied" for entry in ledger)
    return Result(kept, answered, [], math.fsum(entry["epsilon"] for entry in ledger))


def through_phyphox(folder: Path, url: str, moments: list[Moment]) -> Result:
    """Ask phyphox for its buffers, lose the phone now and then, and ask again."""
    with taking_part(folder, url) as (device, store, result), ExitStack() as stack:
        clock = SimulatedClock()
        intake = Intake(store, "phyphox", clock=clock)
        app = PhyphoxApp(moments)
        stack.callback(app.close)
        retry_timer = RetryTimer(base=0.001, longest=0.001)
        phone = PhyphoxPhone("127.0.0.1", app.port, intake, retry_timer, period=0.0)
        label = None
        while app.now < len(moments):
            ahead = moments[app.now : app.now + 500]
            if ahead[0].label != label:
                label = ahead[0].label
                set_label(store, label or None, ahead[0].ns)
            app.now += next((n for n, m in enumerate(ahead) if m.label != label), len(ahead))
            clock.ns = moments[app.now - 1].ns
            app.broken = app.now % 7 == 0
            phone.poll(0.01)
            app.broken = False
            while intake.newest(f"phyphox:{app.session}") != moments[app.now - 1].ms * 1_000_000:
                phone.poll(0.01)
            device.sync()
        return result()


@contextmanager
def working(work: Callable[[], None]) -> Iterator[threading.Thread]:
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    yield thread
    thread.join()


def same_clock(moments: list[Moment]) -> list[Moment]:
    """Return the moments with times from 0 on, as a source counts from its first reading."""
    return [moment._replace(ms=moment.ms - moments[0].ms) for moment in moments]


@contextmanager
def serving(folder: Path) -> Iterator[str]:
    """Run a real server with the task."""
    server = ServerProcess(folder / "server")
    server.folder.mkdir(parents=True)
    with closing(Store(server.database)) as store:
        store.create_task(Task.from_toml(TASK))
    server.start()
    try:
        yield server.url
    finally:
        server.stop()


def compare(
    folder: Path, url: str, seconds: float, mqtt: Callable[[list[Message]], Any] | None = None
) -> Iterator[tuple[str, int, Result, Result]]:
    """Return for each source: name, number of lost readings, its result, and the CSV's."""
    moments = record(seconds)
    whole = through_csv(folder / "csv", url, moments)
    yield "termux", 0, through_termux(folder / "termux", url, moments), whole
    found = through_one_file(folder / "one-file", url, moments)
    yield "termux, device.py", 0, found, whole
    yield "phyphox", 0, through_phyphox(folder / "phyphox", url, moments), whole
    messages = sensor_logger(moments)
    arriving, lost = over_a_bad_network(messages, LOSS, TWICE, LATE)
    gone = {moment for message in lost for moment in message.moments}
    rest = [moment for moment in moments if moment not in gone]
    thinned = through_csv(folder / "csv-thinned", url, same_clock(rest))
    yield "Sensor Logger, HTTP", len(gone), through_http(folder / "http", url, arriving), thinned
    if mqtt:
        with mqtt(arriving) as (source, publish):
            found = through_mqtt(folder / "mqtt", url, source, publish)
        yield "Sensor Logger, MQTT", len(gone), found, thinned


if __name__ == "__main__":
    from experiments.sources.broker import publishing

    duration = float(sys.argv[1]) if len(sys.argv) > 1 else 7200.0
    print(
        "| source | readings lost | samples | check-ins | samples, CSV | check-ins, CSV | equal |"
    )
    print("|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as name, serving(Path(name)) as root:
        for source, n_lost, got, expected in compare(Path(name), root, duration, publishing):
            row: tuple[object, ...] = (source, n_lost, len(got.samples), got.checkins)
            same = got == expected if got.events else got.agrees(expected)
            row += (len(expected.samples), expected.checkins, same)
            cells = (f"{v:,}" if type(v) is int else str(v) for v in row)
            print(f"| {' | '.join(cells)} |", flush=True)

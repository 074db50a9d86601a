"""Test the check of the first rows of a sensor app, before anything is spent on them."""

import http.client
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import cycle
from pathlib import Path
from typing import Any

import msgspec
import pytest

from crowdml import one_file_device as standalone
from crowdml.demo import free_port
from crowdml.device import Device, DeviceStore, RetryTimer, set_label
from crowdml.device.sources import (
    APP_FORMATS,
    Intake,
    ListenAddress,
    Listener,
    PhyphoxPhone,
    Pipe,
    first_rows,
    read_address,
    run_live,
)
from crowdml.device.sources.mqtt import Broker, feed_from_topic, session_name
from crowdml.errors import DoubtfulRows
from crowdml.protocol import Task
from experiments.sources.apps import (
    LABELS,
    START,
    PhyphoxApp,
    record,
    sensor_logger,
    termux_session,
)
from tests.device.fakes import MemoryTransport, join
from tests.device.scripted_server import ScriptedServer, serving
from tests.one_file_device.program import OneFileProgram
from tests.support.brokers import broker_in
from tests.support.servers import PATIENCE, make_direction_task, make_task

MOMENTS = record(20, stretch=10)
MESSAGES = [message.body for message in sensor_logger(MOMENTS)]
BATCH = 4
DOUBT = (
    "4 of the first 4 rows cannot be in the task's units: they are longer than 1, and would be "
    "shortened. Nothing was spent on them. Check the sensor and the units in the app. To use these "
    "rows anyway, add --yes."
)


def task_of(scale: float, make: Callable[..., Task] = make_task, **changes: Any) -> Task:
    """Make a task for which gravity is `9.81 / scale` long; a scale of 1 is wrong."""
    sensor = {"kind": "motion", "rate": 20, "window": 16, "every": 0.5, "transform": "summary"}
    settings: dict[str, Any] = {"collection__batch": BATCH, "collection__buffer": 5000} | changes
    settings |= {f"features__sensor.{key}": value for key, value in sensor.items()}
    settings["features__sensor.scale"] = scale
    return make(target__labels=list(LABELS), **settings)


class Participant:
    """Act as somebody with a device and a sensor app.

    Args:
        scale: The task's; 1 makes all rows doubtful.
        answer: What is answered when the device asks.
    """

    def __init__(self, folder: Path, scale: float = 1.0, answer: bool = False) -> None:
        self.transport = MemoryTransport(task_of(scale))
        self.file, self.answer, self.asked = folder / "device", answer, list[str]()
        self.device = join(self.file, self.transport)
        self.device.add([0.01, 0.01, 0.01, 0.01], "Still")
        self.store = DeviceStore(self.file)
        self.intakes: list[Intake] = []

    def on_doubt(self, said: str) -> bool:
        self.asked.append(said)
        return self.answer

    def intake(self, format: str, **options: Any) -> Intake:
        self.intakes.append(Intake(self.store, format, **options))
        return self.intakes[-1]

    def kept(self) -> int:
        return sum(intake.counts.kept for intake in self.intakes)

    def check_nothing_spent(self) -> None:
        assert (self.device.n_samples, self.device.ledger.events) == (1, ()), "the one before"
        assert (self.transport.checkouts, self.transport.bodies) == (0, [])

    def close(self) -> None:
        self.store.close()
        self.device.close()


def through_http(person: Participant, answers: list[tuple[int, str]] | None = None) -> None:
    """Post until the device stops; write down all answers."""
    intake = person.intake("sensor-logger")
    listener = Listener(ListenAddress("http", "127.0.0.1", 0), intake)
    posted = threading.Event()

    def post() -> None:
        app = http.client.HTTPConnection("127.0.0.1", listener.port, timeout=PATIENCE)
        with closing(app):
            for body in MESSAGES:
                app.request("POST", "/", body)
                answer = app.getresponse()
                text = answer.read().decode()
                if answers is not None:
                    answers.append((answer.status, text))
                if answer.status == 499 and not person.answer:
                    break
        posted.set()

    thread = threading.Thread(target=post, daemon=True)
    thread.start()
    try:
        run_live(person.device, intake, listener, posted.is_set, on_doubt=person.on_doubt)
    finally:
        thread.join(PATIENCE)


def through_pipe(person: Participant) -> None:
    now = [START]
    intake = person.intake("termux", clock=lambda: now[0])
    set_label(person.store, "Walking", 1)

    def lines() -> Iterator[str]:
        for moment, text in zip([None, *MOMENTS, None], termux_session(MOMENTS), strict=True):
            now[0] = moment.ns if moment else now[0]
            yield from text.splitlines(keepends=True)

    found = lines()
    pipe = Pipe(lambda _: next(found, ""), intake)
    run_live(person.device, intake, pipe, on_doubt=person.on_doubt)


def through_phyphox(person: Participant) -> None:
    set_label(person.store, "Walking", 1)
    intake = person.intake("phyphox", clock=lambda: START)
    app = PhyphoxApp(MOMENTS)
    app.now = len(MOMENTS)
    phone = PhyphoxPhone("127.0.0.1", app.port, intake, RetryTimer(base=0.001), 0.0)

    def stopped() -> bool:
        return intake.newest(f"phyphox:{app.session}") == MOMENTS[-1].ms * 1_000_000

    with closing(app):
        run_live(person.device, intake, phone, stopped, on_doubt=person.on_doubt)


def through_topic(person: Participant, folder: Path) -> None:
    device, intake = person.device, person.intake("sensor-logger")
    with broker_in(folder / "broker") as broker:
        address = read_address(broker.source)
        client, published = session_name(device, address.topic), threading.Event()
        session = Broker(address, client, retry_timer=RetryTimer(base=0.01))

        def stopped() -> bool:
            if not published.is_set() and broker.n_subscriptions():
                published.set()
                broker.publish(*MESSAGES)
            return intake.counts.lines >= len(MESSAGES)

        feed_from_topic(
            device, session, client, stopped=stopped, intake=intake, on_doubt=person.on_doubt
        )


SOURCES = ("http", "pipe", "phyphox", "topic")


def run(source: str, person: Participant, folder: Path) -> None:
    if source == "topic":
        through_topic(person, folder)
    else:
        {"http": through_http, "pipe": through_pipe, "phyphox": through_phyphox}[source](person)


@pytest.mark.parametrize("source", SOURCES)
def test_nothing_is_kept_or_spent_on_doubtful_rows(source: str, tmp_path: Path) -> None:
    with closing(Participant(tmp_path)) as person:
        with pytest.raises(DoubtfulRows, match="3 of the first 3 rows cannot be in the task's"):
            run(source, person, tmp_path)
        assert len(person.asked) == 1
        person.check_nothing_spent()
        # The next run asks again, and goes on when the answer is yes.
        person.answer = True
        (tmp_path / "again").mkdir()
        run(source, person, tmp_path / "again")
        assert len(person.asked) == 2
        assert person.transport.bodies


@pytest.mark.parametrize("source", SOURCES)
def test_who_goes_on_loses_no_sample(source: str, tmp_path: Path) -> None:
    counts = []
    for n, scale in enumerate((1.0, 100.0)):  # doubtful rows, and good ones
        (tmp_path / str(n)).mkdir()
        with closing(Participant(tmp_path / str(n), scale, answer=True)) as person:
            run(source, person, tmp_path / str(n))
            assert len(person.asked) == (scale == 1.0)
            assert not any(map(person.store.streams.first_rows, APP_FORMATS))
            counts.append(person.kept())
            assert person.transport.bodies
    if source == "http":  # messages that came while the question was open were not taken
        assert BATCH <= counts[0] <= counts[1]
    else:
        assert counts[0] == counts[1]


def test_the_app_shows_why(tmp_path: Path) -> None:
    with closing(Participant(tmp_path)) as person:
        intake = person.intake("sensor-logger")
        listener = Listener(ListenAddress("http", "127.0.0.1", 0), intake)
        app = http.client.HTTPConnection("127.0.0.1", listener.port, timeout=PATIENCE)
        with closing(app), closing(listener):
            said = []
            for body in MESSAGES:
                app.request("POST", "/", body)
                answer = app.getresponse()
                said.append((answer.status, answer.read().decode()))
        first = next(n for n, (status, _) in enumerate(said) if status == 499)
        assert set(said[:first]) == {(200, "[]")}
        assert set(said[first:]) == {(499, DOUBT.replace("4 of the first 4", "3 of the first 3"))}
        assert intake.counts.lines == first + 1, "a message that was rejected is not taken"
        with pytest.raises(DoubtfulRows):
            intake.resolve_doubt(person.on_doubt)
        person.check_nothing_spent()


def test_a_message_is_answered_before_the_device_stops(tmp_path: Path) -> None:
    """Check the case where nobody can be asked, and the device stops at once."""
    with closing(Participant(tmp_path)) as person:
        answers: list[tuple[int, str]] = []
        with pytest.raises(DoubtfulRows):
            through_http(person, answers)
        assert answers[-1] == (499, DOUBT.replace("4 of the first 4", "3 of the first 3"))


def test_a_device_that_starts_again_looks_at_all_rows(tmp_path: Path) -> None:
    """Give three processes one row each; the third would check in."""
    with closing(Participant(tmp_path)) as person:
        counts = []
        messages = iter([message.body for message in sensor_logger(MOMENTS, 200)])
        for _ in range(3):
            intake = person.intake("sensor-logger")
            before = person.store.n_samples
            while person.store.n_samples == before and not intake.doubt:
                intake.take(next(messages))
            counts.append(person.store.n_samples)
        assert counts == [2, 3, 3]
        assert intake.doubt
        assert "3 of the first 3 rows" in intake.doubt
        with pytest.raises(DoubtfulRows):
            intake.resolve_doubt(person.on_doubt)
        person.check_nothing_spent()


def test_good_rows_are_looked_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[int] = []
    doubt_about = first_rows.doubt_about

    def counting(features: Any, norm: int, rows: Any) -> str | None:
        looks.append(len(rows))
        return doubt_about(features, norm, rows)

    monkeypatch.setattr(first_rows, "doubt_about", counting)
    with closing(Participant(tmp_path, scale=100.0)) as person:
        for part in (MESSAGES[:10], MESSAGES[10:]):
            intake = person.intake("sensor-logger")
            for body in part:
                intake.take(body)
                person.device.sync()
            intake.flush()
        assert looks == [3]
        assert person.store.streams.first_rows_checked("sensor-logger")
        person.device.leave(erase=False)
        assert not person.store.streams.first_rows_checked("sensor-logger"), "leaving erases it"


# As programs


def text_of_termux() -> str:
    return "".join(termux_session(MOMENTS))


@pytest.fixture
def server() -> Iterator[tuple[ScriptedServer, str]]:
    script = ScriptedServer()
    script.memory = MemoryTransport(task_of(1.0, make_direction_task, collection__checkins=3))
    script.model = 200, {}, msgspec.json.encode(script.memory.checkout("t").checkout)
    with serving(script) as root:
        yield script, root


def crowdml(file: Path, *options: str) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "crowdml", "device", "run", "--file", str(file), *options]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    return subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env=environment,
    )  # fmt: skip


def test_the_command_exits_with_code_8(server: tuple[ScriptedServer, str], tmp_path: Path) -> None:
    script, root = server
    file, port = tmp_path / "device", free_port()
    Device.join(root, "activity", file=file, accept_no_privacy=True).close()
    address = f"http://127.0.0.1:{port}"
    with crowdml(file, "--source", address, "--format", "sensor-logger") as running:
        assert running.stdout
        assert "listening" in running.stdout.readline()
        app = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
        with closing(app):
            status, said = 200, ""
            messages = iter(MESSAGES)
            while status == 200:
                app.request("POST", "/", next(messages))
                answer = app.getresponse()
                status, said = answer.status, answer.read().decode()
        assert (status, said) == (499, DOUBT)
        _, err = running.communicate(timeout=PATIENCE)
    assert (running.returncode, err.splitlines()[-1]) == (8, f"crowdml: {DOUBT}")
    assert script.checkins == []


@pytest.mark.parametrize("yes", [False, True])
def test_both_devices_on_a_phone_stop_alike(
    server: tuple[ScriptedServer, str], tmp_path: Path, yes: bool
) -> None:
    """Write readings slowly: those of termux-sensor have no times of their own."""
    script, root = server
    program, file = OneFileProgram(tmp_path), tmp_path / "device"
    assert program.join(f"{root}/join/activity").returncode == 0
    Device.join(root, "activity", file=file, accept_no_privacy=True).close()
    options = ["--source", "-", "--format", "termux", "--label", "Walking", *["--yes"] * yes]
    for both in (0, 1):
        script.checkins.clear()
        with crowdml(file, *options) if both else program.launch("run", *options) as running:
            assert running.stdin
            err = feed_slowly(running, text_of_termux(), lambda: bool(script.checkins))
        if yes:
            assert script.checkins
            assert "4 of the first 4 rows cannot be in the task's units" in err
        else:
            assert running.returncode == 8, err
            assert err.splitlines()[-1].removeprefix("crowdml: ") == DOUBT
            assert script.checkins == []


def feed_slowly(running: "subprocess.Popen[str]", text: str, done: Callable[[], bool]) -> str:
    """Write readings, 20 ms apart, until the program ends, or is done; return its errors."""
    pause, deadline = threading.Event(), time.monotonic() + PATIENCE
    first, *pieces = text.split("}\n{\n")
    assert running.stdin
    running.stdin.write(first)
    for piece in cycle(pieces):
        if running.poll() is not None or done() or time.monotonic() > deadline:
            break
        try:
            running.stdin.write("}\n{\n" + piece)
            running.stdin.flush()
        except BrokenPipeError:
            break
        pause.wait(0.02)
    return running.communicate(timeout=PATIENCE)[1]


def test_the_one_file_device_looks_at_rows_of_earlier_runs(
    server: tuple[ScriptedServer, str], tmp_path: Path
) -> None:
    _, root = server
    program = OneFileProgram(tmp_path)
    assert program.join(f"{root}/join/activity").returncode == 0
    now = [0.0]

    def lines(first: int, last: int) -> Iterator[str]:
        for moment, text in list(zip(MOMENTS, list(termux_session(MOMENTS))[1:], strict=False))[
            first:last
        ]:
            now[0] = moment.ms / 1000
            yield from text.splitlines(keepends=True)

    def sense(first: int, last: int, yes: bool = False) -> None:
        device = standalone.Device(standalone.DeviceStore(str(program.file)))
        device.set_label("Walking")
        device.sense(lines(first, last), 0.0, yes, clock=lambda: now[0])

    sense(0, 80)
    assert 0 < program.buffered < BATCH
    assert len(program.state["first"]) == program.buffered
    with pytest.raises(standalone.DeviceError) as found:
        sense(80, 400)
    assert (str(found.value), found.value.kind) == (DOUBT, "rows")
    assert (program.buffered, program.state["first"]) == (0, [])


def test_messages_agree() -> None:
    for name in ("REMEDY", "APP_REMEDY", "LOOKED_AT"):
        assert getattr(standalone, name) == getattr(first_rows, name)

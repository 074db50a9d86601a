"""Test what a person learns of messages that give no sample, and of the end of the task."""

import http.client
import json
import os
import signal
import subprocess
import sys
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from crowdml.cli.device import run_notes
from crowdml.demo import free_port
from crowdml.device import Device, DeviceStore, set_label
from crowdml.device.retry_timer import RetryTimer
from crowdml.device.sources import (
    Hint,
    Intake,
    ListenAddress,
    Listener,
    PhoneAddress,
    PhyphoxPhone,
    TopicAddress,
    read_listen_address,
    run_live,
)
from crowdml.device.sources.formats import SECOND
from crowdml.device.sources.intake import MESSAGES_WITHOUT_READING as MOST
from crowdml.device.sources.live import CLOSING_SECONDS
from crowdml.device.sources.message_hints import WITHOUT_LABEL
from crowdml.device.sources.message_receiver import ENDED_TEXT, STOPPED_TEXT
from crowdml.device.sources.mqtt.broker import TopicMessage
from crowdml.device.sources.mqtt.topic import _ReadingReader
from crowdml.errors import InvalidSample
from crowdml.protocol import State
from experiments.sources.apps import START, PhyphoxApp, record
from tests.device.fakes import MemoryTransport, join
from tests.device.scripted_server import ScriptedServer, serving
from tests.device.sources.test_apps import (
    annotation,
    labels_in,
    messages_of,
    post,
    readings,
    task_of,
)
from tests.support.brokers import broker_in
from tests.support.servers import PATIENCE


@contextmanager
def taking(
    folder: Path, format: str, transport: MemoryTransport, seconds: int = 1000
) -> Iterator[tuple[Device, DeviceStore, Intake]]:
    file = folder / "device"
    with closing(join(file, transport)) as device, closing(DeviceStore(file)) as store:
        yield device, store, Intake(store, format, clock=lambda: START + seconds * SECOND)


def hints_of(intake: Intake, bodies: list[bytes]) -> list[str]:
    """Return the hints, with the number of their message."""
    found = []
    for n, body in enumerate(bodies, 1):
        try:
            intake.take(body)
        except Hint as hint:
            found.append(f"{n}: {hint}")
    return found


# Hints


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ({"_type": "location", "tst": 1, "lat": 1, "lon": 2, "t": "p"}, "locations without vel"),
        ({"_type": "location", "tst": 1, "vel": -1}, "locations without vel"),
        ({"_type": "encrypted", "data": "…"}, "encrypted payloads"),
    ],
)
def test_owntracks_without_a_speed(tmp_path: Path, message: object, said: str) -> None:
    with taking(tmp_path, "owntracks", task_of("speed")) as (_, _, intake):
        (hint,) = hints_of(intake, [json.dumps(message).encode()] * (MOST + 5))
    assert hint.startswith(f"{MOST}: nothing for this task came in the last {MOST} messages, ")
    assert said in hint
    assert "In OwnTracks, switch off the encryption of payloads" in hint


def test_phyphox_without_new_readings(tmp_path: Path) -> None:
    """Check that a hint does not count as a failure of the phone."""
    skipped: list[InvalidSample] = []
    with taking(tmp_path, "phyphox", task_of()) as (_, _, intake):
        app = PhyphoxApp(record(1))
        retry_timer = RetryTimer(base=0.001)
        phone = PhyphoxPhone("127.0.0.1", app.port, intake, retry_timer, 0.0, skipped.append)
        with closing(app):
            for _ in range(MOST + 5):
                phone.poll(0.01)
            assert not phone._failed
    (hint,) = skipped
    assert isinstance(hint, Hint)
    assert "which have no new readings. In phyphox, open an experiment" in str(hint)


def test_readings_without_a_label(tmp_path: Path) -> None:
    """Give a hint once in each recording, unless a person has set or unset a label."""
    some = [messages_of(*readings(n, n + 1)) for n in range(WITHOUT_LABEL + 5)]
    with taking(tmp_path, "sensor-logger", task_of()) as (_, store, intake):
        (hint,) = hints_of(intake, some)
        assert hint.startswith(
            f"{WITHOUT_LABEL}: the last {WITHOUT_LABEL} messages have readings, but no label"
        )
        assert "`crowdml device label NAME`" in hint
        second = [
            messages_of(*readings(100 + n, 101 + n), session="t") for n in range(WITHOUT_LABEL + 5)
        ]
        assert len(hints_of(intake, second)) == 1
        ended = messages_of(annotation(200, ""), *readings(200, 201), session="u")
        third = [
            messages_of(*readings(201 + n, 202 + n), session="u") for n in range(WITHOUT_LABEL + 5)
        ]
        assert hints_of(intake, [ended, *third]) == []
        set_label(store, None, START)
        fourth = [
            messages_of(*readings(300 + n, 301 + n), session="v") for n in range(WITHOUT_LABEL + 5)
        ]
        assert hints_of(intake, fourth) == []


def test_a_hint_over_mqtt_is_no_skipped_sample(tmp_path: Path) -> None:
    skipped: list[InvalidSample] = []
    with taking(tmp_path, "sensor-logger", task_of()) as (_, _, intake):
        reader = _ReadingReader(intake, skipped.append)
        for body in (messages_of(*readings(0, 1), annotation(0.5, "Flying")), b"nonsense"):
            assert reader.take(TopicMessage(1, False, body))
    hint, wrong = skipped
    assert isinstance(hint, Hint)
    assert str(hint).startswith("the label must be one of")
    assert str(wrong).startswith("message 2: expected {")
    assert reader.counts.skipped == 1


# The end of the task


@pytest.mark.parametrize("told", [True, False])
def test_the_app_shows_the_end(tmp_path: Path, told: bool) -> None:
    """Keep the port open until one message was answered, or for a minute."""
    transport, now = task_of(collection__batch=3, collection__buffer=60), [0.0]
    with taking(tmp_path, "sensor-logger", transport) as (device, store, intake):
        set_label(store, "Still", 1)
        transport.state = State.STOPPED
        listener = Listener(ListenAddress("http", "127.0.0.1", 0), intake)
        answers: list[tuple[int, str]] = []
        app = http.client.HTTPConnection("127.0.0.1", listener.port, timeout=PATIENCE)
        poll, n_after = listener.poll, [0]

        def polling(seconds: float) -> bool:
            """Send a message at each turn; after the end, only with `told`."""
            n_after[0] += bool(device.ended)
            now[0] += 10.0
            if told or not device.ended:
                n = len(answers)
                answers.append(post(app, messages_of(*readings(n, n + 1))))
            return poll(0.0)

        listener.poll = polling  # type: ignore[method-assign]
        with closing(app):
            run_live(device, intake, listener, on_doubt=lambda said: True, clock=lambda: now[0])
            assert device.ended
            kept = store.n_samples
            assert {status for status, _ in answers[:-1]} == {200}
            assert answers[-1] == ((499, ENDED_TEXT) if told else (200, "[]"))
            assert n_after[0] == (1 if told else CLOSING_SECONDS / 10)
            if not told:  # the connection is still open
                assert post(app, messages_of(*readings(90, 95))) == (499, ENDED_TEXT)
            assert store.n_samples == kept


def test_an_open_connection_after_the_run(tmp_path: Path) -> None:
    with taking(tmp_path, "sensor-logger", task_of()) as (device, _, intake):
        listener = Listener(ListenAddress("http", "127.0.0.1", 0), intake)
        app = http.client.HTTPConnection("127.0.0.1", listener.port, timeout=PATIENCE)
        with closing(app):
            assert post(app, messages_of(*readings(0, 1))) == (200, "[]")
            run_live(device, intake, listener, stopped=lambda: True)
            n_lines = intake.counts.lines
            assert post(app, messages_of(*readings(1, 2))) == (503, STOPPED_TEXT)
            assert intake.counts.lines == n_lines


# Home Assistant


def test_a_choice_that_was_made_before_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Read the retained choice as the label, and no retained number."""
    sensor = {"rate": 0.1, "window": 2, "every": 0, "scale": 100}
    file, running = tmp_path / "device", list[Intake]()

    def clock() -> int:
        return START + 10 * SECOND * sum(each.counts.lines for each in running)

    with (
        broker_in(tmp_path / "broker") as broker,
        closing(join(file, task_of("light", sensor=sensor))) as device,
        closing(DeviceStore(file)) as store,
    ):
        with broker.talking() as home:
            for topic, state in (("input_select/activity", "Walking"), ("sensor/lux", "90")):
                sent = home.publish(f"statestream/{topic}/state", state, qos=1, retain=True)
                sent.wait_for_publish(PATIENCE)
        intake = Intake(store, "statestream", clock=clock)
        running.append(intake)

        class Stop:
            published = False

            def is_set(self) -> bool:
                if not self.published and intake.counts.lines == 1:
                    self.published = True
                    with broker.talking() as home:
                        for _ in range(6):
                            sent = home.publish("statestream/sensor/lux/state", "10", qos=1)
                            sent.wait_for_publish(PATIENCE)
                return intake.counts.lines == 7

        @contextmanager
        def asked_to_stop() -> Iterator[Stop]:
            yield Stop()

        monkeypatch.setattr(run_notes, "asked_to_stop", asked_to_stop)
        address = TopicAddress("mqtt", "127.0.0.1", broker.port, "statestream/+/+/state")
        nothing: Callable[[object], None] = lambda said: None  # noqa: E731
        run_notes.run_topic(device, address, None, False, None, nothing, nothing, intake=intake)
        found = labels_in(store)
        rows = [
            float(memoryview(x).cast("d")[0]) for x, _ in store._db.rows("SELECT x, y FROM buffer")
        ]
    assert set(found) == {"Walking"}
    assert len(found) >= 2
    assert rows == pytest.approx([0.1] * len(rows)), "the retained 90 is not a reading"


# Secrets


def test_addresses_as_texts_have_no_secret() -> None:
    assert str(read_listen_address("http://ann:SECRET@h:80")) == "http://ann:…@h:80"
    assert str(read_listen_address("https://h:80/SECRET/")) == "https://h:80/…"
    assert str(PhoneAddress("::1", 80)) == "phyphox://[::1]:80"


@pytest.mark.parametrize("where", ["http://ann:SECRET@127.0.0.1:{}", "http://127.0.0.1:{}/SECRET"])
def test_how_to_go_on_has_all_options_and_no_secret(tmp_path: Path, where: str) -> None:
    script, file, port = ScriptedServer(), tmp_path / "device", free_port()
    script.memory = task_of(collection__batch=3, collection__buffer=6)
    with serving(script) as root:
        Device.join(root, "activity", file=file, accept_no_privacy=True).close()
    command = [sys.executable, "-m", "crowdml", "device", "run", "--file", str(file), "--yes"]
    command += ["--source", where.format(port), "--format", "sensor-logger", "--every", "0.6"]
    running = subprocess.Popen(
        [*command, "--label", "Still"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, env=os.environ,
    )  # fmt: skip
    assert running.stdout
    said = running.stdout.readline()
    assert "listening" in said
    code = b64encode(b"ann:SECRET").decode()
    app = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    with closing(app):
        path = "/SECRET" if where.endswith("SECRET") else "/"
        for n in range(8):
            body = messages_of(*readings(n, n + 1))
            assert post(app, body, path, Authorization=f"Basic {code}")[0] in (200, 499)
    running.send_signal(signal.SIGTERM)
    rest, _ = running.communicate(timeout=PATIENCE)
    shown = where.format(port).replace("ann:SECRET", "ann:…").replace("/SECRET", "/…")
    assert "SECRET" not in rest
    assert (
        f"`crowdml device run --file {file} --format sensor-logger --every 0.6 --source '{shown}'`"
        in rest
    )

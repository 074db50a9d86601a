"""Test sensor apps as sources: each gives, once, what the same readings give in a CSV."""

import http.client
import io
import json
import os
import re
import signal
import ssl
import subprocess
import sys
import threading
from base64 import b64encode
from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest

from crowdml import one_file_device as standalone
from crowdml.certificate import self_signed
from crowdml.demo import free_port
from crowdml.device import Device, DeviceStore, Outcome, RetryTimer, feed, set_label
from crowdml.device.sources import (
    Intake,
    ListenAddress,
    Listener,
    PhyphoxPhone,
    Pipe,
    read_address,
    read_listen_address,
    read_phone_address,
    run_live,
)
from crowdml.device.sources.formats import APP_FORMATS, LONGEST_OBJECT, SECOND, JsonObjects
from crowdml.device.sources.intake import MESSAGES_WITHOUT_READING
from crowdml.device.sources.listener import LARGEST_MESSAGE
from crowdml.device.sources.mqtt import Broker, feed_from_topic, session_name
from crowdml.device.sources.stream import MOST_LABELS, StreamMemory
from crowdml.errors import InvalidInput, InvalidSample
from experiments.sources.apps import (
    LABELS,
    START,
    Moment,
    PhyphoxApp,
    csv_of,
    over_a_bad_network,
    record,
    sensor_logger,
    termux_session,
)
from tests.device.fakes import MemoryTransport, join
from tests.docs.pages import ROOT
from tests.support.brokers import broker_in
from tests.support.servers import PATIENCE, eventually, make_task

SECONDS = 40
MOMENTS = record(SECONDS, stretch=10)
Samples = list[tuple[bytes, float]]


def task_of(kind: str = "motion", **changes: Any) -> MemoryTransport:
    """Make a task that takes a sample every half second, and never has enough to check in."""
    sensor: dict[str, Any] = {"kind": kind, "rate": 20, "window": 16, "every": 0.5}
    sensor |= {"transform": "summary", "scale": 100, **changes.pop("sensor", {})}
    settings: dict[str, Any] = {"collection__batch": 5000, "collection__buffer": 5000} | changes
    settings |= {f"features__sensor.{key}": value for key, value in sensor.items()}
    return MemoryTransport(make_task(target__labels=list(LABELS), **settings))


@pytest.fixture
def device(tmp_path: Path) -> Iterator[Device]:
    with closing(join(tmp_path / "device", task_of())) as device:
        yield device


@pytest.fixture
def store(device: Device, tmp_path: Path) -> Iterator[DeviceStore]:
    with closing(DeviceStore(tmp_path / "device")) as store:
        yield store


def kept(store: DeviceStore) -> Samples:
    return store._db.rows("SELECT x, y FROM buffer ORDER BY id")


def from_csv(folder: Path, moments: list[Moment] = MOMENTS, every: float | None = None) -> Samples:
    """Return the samples of the same readings in a file."""
    folder.mkdir()
    (folder / "recording.csv").write_text(csv_of(moments))
    with closing(join(folder / "device", task_of())) as device:
        feed(device, str(folder / "recording.csv"), readings=True, every=every)
        return kept(device._store)


@contextmanager
def listening(intake: Intake, **address: Any) -> Iterator[http.client.HTTPConnection]:
    listener = Listener(ListenAddress("http", "127.0.0.1", 0, **address), intake)
    app = http.client.HTTPConnection("127.0.0.1", listener.port, timeout=PATIENCE)
    try:
        yield app
    finally:
        app.close()
        listener.close()


def post(
    app: http.client.HTTPConnection, body: bytes, path: str = "/", **headers: str
) -> tuple[int, str]:
    app.request("POST", path, body, {"Content-Type": "application/json", **headers})
    answer = app.getresponse()
    return answer.status, answer.read().decode()


# Each source beside the CSV


def test_sensor_logger_by_http(store: DeviceStore, tmp_path: Path) -> None:
    arriving, lost = over_a_bad_network(sensor_logger(MOMENTS), 0.1, 0.3, 0.3)
    intake = Intake(store, "sensor-logger")
    with listening(intake) as app:
        assert {post(app, message.body) for message in arriving} == {(200, "[]")}
    intake.flush()
    gone = {moment for message in lost for moment in message.moments}
    assert len(arriving) > SECONDS
    assert lost
    rest = [moment for moment in MOMENTS if moment not in gone]
    assert kept(store) == from_csv(tmp_path / "csv", rest)
    assert {y for _, y in kept(store)} == {0.0, 1.0, 2.0, 3.0}


def test_sensor_logger_by_mqtt(device: Device, store: DeviceStore, tmp_path: Path) -> None:
    """Publish with QoS 0, then again with QoS 1; repeated readings are known by their times."""
    messages = sensor_logger(MOMENTS)
    with broker_in(tmp_path / "broker") as broker:
        address = read_address(broker.source)
        intake, client = Intake(store, "sensor-logger"), session_name(device, address.topic)
        session = Broker(address, client, retry_timer=RetryTimer(base=0.01))
        published = threading.Event()

        def stopped() -> bool:
            if not published.is_set() and broker.n_subscriptions():
                published.set()
                for qos in (0, 1):
                    broker.publish(*(message.body for message in messages), qos=qos)
            return intake.counts.lines == 2 * len(messages)

        counts = feed_from_topic(device, session, client, stopped=stopped, intake=intake)
    assert counts.skipped == 0
    assert kept(store) == from_csv(tmp_path / "csv")


def test_termux(device: Device, store: DeviceStore, tmp_path: Path) -> None:
    """Write into a pipe that ends, while labels are set by a command."""
    now = [START]
    intake = Intake(store, "termux", clock=lambda: now[0])

    def has_used_up(last: Moment) -> None:
        assert eventually(lambda: intake.newest("termux") == last.ns)

    def lines() -> Iterator[str]:
        before = MOMENTS[0]._replace(label="")
        for moment, text in zip([None, *MOMENTS, None], termux_session(MOMENTS), strict=True):
            if moment and moment.label != before.label:
                has_used_up(before)
                set_label(store, moment.label or None, moment.ns)
            if moment:
                now[0], before = moment.ns, moment
            yield from text.splitlines(keepends=True)

    found = lines()
    counts = run_live(device, intake, Pipe(lambda _: next(found, ""), intake))
    assert (counts.skipped, counts.kept) == (0, len(kept(store)))
    assert kept(store) == from_csv(tmp_path / "csv")


def wait_for(phone: PhyphoxPhone, session: str, size: int) -> None:
    """Let a device ask until it has this many readings of a session."""

    def has_them() -> bool:
        phone.poll(0.01)
        return phone._intake.newest(f"phyphox:{session}") == MOMENTS[size - 1].ms * 1_000_000

    assert eventually(has_them)


def test_phyphox(device: Device, store: DeviceStore, tmp_path: Path) -> None:
    """Let the phone go away and come back, restart the device, and ask for nothing twice."""
    now = [START]
    app, label, n = PhyphoxApp(MOMENTS), None, 0
    intake = Intake(store, "phyphox", clock=lambda: now[0])
    phone = PhyphoxPhone("127.0.0.1", app.port, intake, RetryTimer(base=0.001, longest=0.001), 0.0)
    with closing(app):
        while app.now < len(MOMENTS):
            ahead, n = MOMENTS[app.now : app.now + 100], n + 1
            if ahead[0].label != label:
                label = ahead[0].label
                set_label(store, label or None, ahead[0].ns)
            app.now += next((i for i, m in enumerate(ahead) if m.label != label), len(ahead))
            now[0] = MOMENTS[app.now - 1].ns
            app.broken = n % 3 == 0
            phone.poll(0.01)
            app.broken = False
            if n % 5 == 0:
                intake = Intake(store, "phyphox", clock=lambda: now[0])
                phone = PhyphoxPhone("127.0.0.1", app.port, intake, RetryTimer(base=0.001), 0.0)
            wait_for(phone, "a1b2c3", app.now)
    assert kept(store) == from_csv(tmp_path / "csv")


def test_phyphox_begins_anew(device: Device, store: DeviceStore) -> None:
    """Check that a new session, or cleared buffers, start another clock."""
    set_label(store, "Walking", 1)
    intake = Intake(store, "phyphox", clock=lambda: START)
    app = PhyphoxApp(MOMENTS)
    phone = PhyphoxPhone("127.0.0.1", app.port, intake, RetryTimer(base=0.001), 0.0)
    with closing(app):
        counts = []
        for session, size in (("a", 500), ("b", 500), ("b", 300), ("b", 400)):
            app.session, app.now = session, size
            wait_for(phone, session, size)
            counts.append(len(kept(store)))
    assert counts[0] > 10
    assert counts[1] == 2 * counts[0]
    # The cleared readings are the same here: they are known, and not taken again.
    assert counts[2] == counts[1] == counts[3]


def test_phyphox_must_have_the_sensor() -> None:
    parser = APP_FORMATS["phyphox"]("motion")
    config = json.dumps({"title": "Magnet", "buffers": [{"name": "mag"}], "inputs": []})
    with pytest.raises(InvalidInput, match=r"'Magnet' on the phone must record accelerometer"):
        parser.configure(config.encode())  # type: ignore[attr-defined]


# Nothing that was acknowledged is lost


def test_killed_after_an_answer(device: Device, store: DeviceStore, tmp_path: Path) -> None:
    """Kill a device between messages, in the middle of windows: nothing is lost or repeated."""
    messages, port = sensor_logger(MOMENTS), free_port()
    command = [sys.executable, "-m", "crowdml", "device", "run", "--file", str(tmp_path / "device")]
    command += ["--source", f"http://127.0.0.1:{port}", "--format", "sensor-logger"]
    command += ["--every", "4"]  # messages between two samples are on disk too
    cuts = (0, 13, len(messages))
    for first, last in pairwise(cuts):
        running = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ)
        try:
            assert running.stdout
            assert "listening" in running.stdout.readline()
            app = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
            for message in messages[max(0, first - 1) : last]:  # the last one comes again
                assert post(app, message.body) == (200, "[]")
            app.close()
        finally:
            running.send_signal(signal.SIGTERM if last == len(messages) else signal.SIGKILL)
            running.communicate(timeout=PATIENCE)
    assert kept(store) == from_csv(tmp_path / "csv", every=4.0)


def test_who_joins_again_takes_no_sample_twice(tmp_path: Path) -> None:
    for n, expected in enumerate((True, False)):
        file = tmp_path / f"device{n}"
        with closing(join(file, task_of())), closing(DeviceStore(file)) as store:
            intake = Intake(store, "sensor-logger")
            for message in sensor_logger(MOMENTS[:1000]):
                intake.take(message.body)
            intake.flush()
            assert bool(intake.counts.kept) is expected
            assert bool(intake.counts.taken) is not expected


# Labels


def messages_of(*entries: dict[str, Any], session: str = "s") -> bytes:
    head = {"messageId": 0, "sessionId": session, "deviceId": "d"}
    return json.dumps(head | {"payload": list(entries)}).encode()


def readings(first: float, last: float, name: str = "accelerometer") -> list[dict[str, Any]]:
    values = {"x": 3.0, "y": 4.0, "z": 12.0}
    times = range(round(first * 50), round(last * 50))
    return [{"name": name, "time": START + k * SECOND // 50, "values": values} for k in times]


def annotation(second: float, text: str) -> dict[str, Any]:
    return {"name": "annotation", "time": START + round(second * SECOND), "values": {"text": text}}


def labels_in(store: DeviceStore) -> list[str]:
    return [LABELS[int(y)] for _, y in kept(store)]


def test_a_label_is_set_by_command(store: DeviceStore) -> None:
    """Check when a command, an annotation and a new session change the label."""
    now = [START]
    intake = Intake(store, "sensor-logger", clock=lambda: now[0])
    intake.take(messages_of(*readings(0, 4)))
    now[0] += 4 * SECOND
    assert set_label(store, "walking", now[0]) == "Walking"
    intake.take(messages_of(*readings(4, 8), annotation(6, " RUNNING ")))
    intake.take(messages_of(*readings(8, 10), session="t"))
    now[0] += 6 * SECOND
    set_label(store, None, now[0])
    intake.take(messages_of(*readings(10, 14), session="t"))
    intake.flush()
    found = labels_in(store)
    assert list(dict.fromkeys(found)) == ["Walking", "Running"]
    assert found[-1] == "Walking", "the second session has no annotation"
    with pytest.raises(InvalidSample, match="the label must be one of Still, Walking"):
        set_label(store, "Flying", 2)


@pytest.mark.parametrize("order", [(0, 1, 2), (1, 0, 2), (2, 1, 0), (2, 0, 1)])
def test_a_new_recording_begins_without_the_last_ones_label(
    store: DeviceStore, order: tuple[int, ...]
) -> None:
    """Let the first messages of a recording overtake each other."""
    intake = Intake(store, "sensor-logger", clock=lambda: START + 20 * SECOND)
    intake.take(messages_of(annotation(0, "Walking"), *readings(0, 5)))
    second = [
        messages_of(*readings(10, 12), session="t"),
        messages_of(*readings(12, 14), annotation(13, "Still"), session="t"),
        messages_of(*readings(14, 20), session="t"),
    ]
    for n in order:
        intake.take(second[n])
    intake.flush()
    found = labels_in(store)
    assert found.count("Walking") == len(range(8, 50, 5)), "5 s, one sample each half second"
    assert "Still" in found


def test_an_annotation_before_the_first_reading_counts(store: DeviceStore) -> None:
    """Start a recording with an annotation, which needs no sensor to start up."""
    intake = Intake(store, "sensor-logger", clock=lambda: START + 20 * SECOND)
    intake.take(messages_of(annotation(0, "Walking"), *readings(0, 5)))
    intake.take(messages_of(annotation(10, "Still"), *readings(10.04, 15), session="t"))
    intake.flush()
    assert list(dict.fromkeys(labels_in(store))) == ["Walking", "Still"]


def test_a_label_of_a_clock_that_is_far_off_counts_from_now_on(store: DeviceStore) -> None:
    """Send readings of years ago, like a recording that is played again."""
    intake = Intake(store, "sensor-logger")
    set_label(store, "Running", intake.clock())
    intake.take(messages_of(*readings(0, 8)))
    set_label(store, "Still", intake.clock())
    intake.take(messages_of(*readings(8, 16)))
    intake.flush()
    assert list(dict.fromkeys(labels_in(store))) == ["Running", "Still"]


def test_every_is_never_less_than_the_tasks(store: DeviceStore, tmp_path: Path) -> None:
    counts = []
    for every in (0.01, None, 3.0):
        found = from_csv(tmp_path / f"csv{every}", every=every)
        counts.append(len(found))
    assert counts[0] == counts[1] > 4 * counts[2] > 0
    intake = Intake(store, "sensor-logger", every=3.0)
    for message in sensor_logger(MOMENTS):
        intake.take(message.body)
    intake.flush()
    assert len(kept(store)) == counts[2]


# What a person should know, and what is not a message


def test_a_person_is_told(store: DeviceStore, device: Device) -> None:
    intake = Intake(store, "sensor-logger", clock=lambda: START)
    with listening(intake) as app:
        status, text = post(app, messages_of(*readings(0, 1), annotation(0.5, "Flying")))
        assert (status, text) == (
            499, "the label must be one of Still, Walking, Running, Cycling, found 'Flying'.",
        )  # fmt: skip
        status, text = post(app, messages_of(*readings(7200, 7201)))
        assert status == 499
        assert "2.0 hours ahead. Set both clocks." in text
        status, text = post(app, messages_of(*readings(0, 1), annotation(10800, "Still")))
        assert status == 499
        assert "3.0 hours ahead. Set both clocks." in text
        answers = [
            post(app, messages_of(*readings(1, 2, "gyroscope")))
            for _ in range(MESSAGES_WITHOUT_READING)
        ]
        assert [status for status, _ in answers] == [200] * (MESSAGES_WITHOUT_READING - 1) + [499]
        assert "which have gyroscope. In Sensor Logger, switch on" in answers[-1][1]
        device.leave(erase=False)
        assert post(app, messages_of(*readings(2, 3)))[0] == 499


def test_labels_without_readings_do_not_fill_the_memory(store: DeviceStore) -> None:
    intake = Intake(store, "sensor-logger", clock=lambda: START)
    for n in range(3):
        labels = [annotation((500 * k + n) / 1000, "Still") for k in range(MOST_LABELS)]
        intake.take(messages_of(*labels))
    document = store.streams.read("d")
    assert document is not None
    waiting = msgspec.msgpack.decode(document, type=StreamMemory).labels
    assert len(waiting) == MOST_LABELS
    assert min(waiting) == START


def test_a_full_buffer_is_told_and_nothing_is_lost(tmp_path: Path) -> None:
    transport = task_of(collection__batch=3, collection__buffer=6)
    file = tmp_path / "device"
    with closing(join(file, transport)) as device, closing(DeviceStore(file)) as store:
        set_label(store, "Still", 1)
        intake = Intake(store, "sensor-logger", clock=lambda: START)
        for n in range(20):
            assert intake.take(messages_of(*readings(n, n + 1))) is Outcome.COLLECTED
        assert store.n_samples == 6
        while device.flush() is Outcome.CHECKED_IN:
            intake.flush()
        assert intake.counts.kept > 30


@pytest.mark.parametrize(
    "body",
    [b"", b"nonsense", b"[]", b"{}", b'{"payload": 3}', b'{"payload": [3]}', b"\xff\xfe",
     b'{"payload": [{"name": "accelerometer", "values": {}}]}', b'{"payload":' + b"[" * 5000,
     b'{"payload": [{"name": "accelerometer", "time": "soon", "values": {}}]}',
     b'{"payload": [{"name": "accelerometer", "time": -1, "values": {}}]}',
     b'{"payload": [{"name": "accelerometer", "time": 1e300, "values": {}}]}'],
)  # fmt: skip
def test_what_is_no_message_is_rejected(store: DeviceStore, body: bytes) -> None:
    intake = Intake(store, "sensor-logger")
    with listening(intake) as app:
        status, text = post(app, body)
        assert status == 400, text
        assert post(app, messages_of(*readings(0, 1))) == (200, "[]"), "and the next one is taken"


@pytest.mark.parametrize(
    "values", [{}, {"x": None}, {"x": "a", "y": 1, "z": 2}, {"x": 1e999, "y": 0, "z": 0}, 3, None]
)
def test_readings_that_are_none_are_left_out(values: Any) -> None:
    parser = APP_FORMATS["sensor-logger"]("motion")
    entry = {"name": "accelerometer", "time": START, "values": values}
    body = json.dumps({"payload": [entry]}).replace("Infinity", "1e999").encode()
    try:
        assert parser.parse(body, START).readings == []
    except InvalidSample:
        assert b"1e999" in body


WRIST = {"accelerationX": 1, "accelerationY": 4, "accelerationZ": 0}
WRIST |= {"gravityX": 2, "gravityY": 0, "gravityZ": 0}


@pytest.mark.parametrize(
    ("kind", "name", "values", "expected"),
    [
        ("motion", "totalAcceleration", {"x": 3, "y": 4, "z": 0}, 5.0),
        ("motion", "Accelerometer", {"x": "3", "y": "4", "z": "0"}, 5.0),
        ("motion", "wristMotion", WRIST, 5.0),
        ("light", "light", {"lux": 300}, 300.0),
        ("speed", "location", {"speed": 1.5}, 1.5),
        ("sound", "microphone", {"dBFS": -20}, 0.1),
    ],
)  # fmt: skip
def test_sensors_have_names_of_their_own(
    kind: str, name: str, values: dict[str, Any], expected: float
) -> None:
    parser = APP_FORMATS["sensor-logger"](kind)
    body = messages_of({"name": name, "time": START, "values": values})
    (reading,) = parser.parse(body, 0).readings
    assert reading.time == START
    assert reading.value == pytest.approx(expected)


def test_gravity_is_read_where_there_is_a_choice() -> None:
    parser = APP_FORMATS["sensor-logger"]("motion")
    both = [*readings(0, 1), *readings(0, 1, "totalAcceleration")]
    assert len(parser.parse(messages_of(*readings(0, 1)), 0).readings) == 50
    assert len(parser.parse(messages_of(*both), 0).readings) == 50
    assert parser.parse(messages_of(*readings(1, 2)), 0).readings == []
    assert len(parser.parse(messages_of(*readings(2, 3), session="t"), 0).readings) == 50


def test_termux_prints_more_than_readings() -> None:
    text = '{}\n{\n  "A": {\n    "val\n{\n  "B": {"values": [1]}\n}\n^CPlain {text}\n{"C": 1}\n'
    objects = JsonObjects()
    found = [each for line in text.splitlines() for each in objects.feed(line)]
    assert found == ["{}", '{\n  "B": {"values": [1]}\n}', '{"C": 1}']


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        ({}, []),
        ({"LSM6DSO Accelerometer": {"values": [3, 4, 0]}}, [5.0]),
        ({"Vendor": {"values": [3, 4, 12]}}, [13.0]),
        ({"Gyroscope": {"values": [1, 1, 1]}, "Linear Accel": {"values": [0, 0, 1]},
          "ACCELEROMETER": {"values": [0, 3, 4]}}, [5.0]),
        ({"Gyroscope": {"values": [1, 1, 1]}, "Light": {"values": [1]}}, []),
        ({"A": 3}, None), ({"A": {"values": [None, 1, 2]}}, None), ({"A": {"values": []}}, None),
    ],
)  # fmt: skip
def test_termux_names_sensors_as_vendors_do(
    document: dict[str, Any], expected: list[float] | None
) -> None:
    parser = APP_FORMATS["termux"]("motion")
    body = json.dumps(document, indent=2).encode()
    if expected is None:
        with pytest.raises(InvalidSample):
            parser.parse(body, START)
    else:
        found = parser.parse(body, START).readings
        assert [(reading.time, reading.value) for reading in found] == [
            (START, v) for v in expected
        ]


@pytest.mark.parametrize(
    ("text", "said"),
    [("{" + "x" * LONGEST_OBJECT, "must have at most 1,048,576 characters"), ("\xff\n", "UTF-8")],
)
def test_a_pipe_that_is_not_termux(
    device: Device, store: DeviceStore, text: str, said: str
) -> None:
    """Check that both devices reject a line without end, and bytes that are not text."""
    intake = Intake(store, "termux")

    def stdin() -> io.TextIOWrapper:
        return io.TextIOWrapper(io.BytesIO(text.encode("latin1")), encoding="utf-8")

    with pytest.raises(InvalidInput, match=said) as ours:
        run_live(device, intake, Pipe(stdin().readline, intake))
    with pytest.raises(standalone.DeviceError) as theirs:
        list(standalone.arrivals(stdin(), lambda: 0.0))
    assert str(theirs.value) == str(ours.value)


@pytest.mark.parametrize("found", [None, 3, "x", [], {"buffer": 3}])
def test_phyphox_may_send_nonsense(found: object) -> None:
    parser = APP_FORMATS["phyphox"]("motion")
    body = json.dumps({"buffer": {"acc_time": found}, "status": {"session": "a"}}).encode()
    with pytest.raises(InvalidSample):
        parser.parse(body, START)


def test_phyphox_leaves_out_what_is_not_known() -> None:
    parser = APP_FORMATS["phyphox"]("motion")
    columns = {
        "acc_time": [0.1, 0.2, None],
        "accX": [3, None, 3],
        "accY": [4, 4, 4],
        "accZ": [0, 0, 0],
    }
    buffers = {name: {"updateMode": "partial", "buffer": each} for name, each in columns.items()}
    body = json.dumps({"buffer": buffers, "status": {"session": "a"}}).encode()
    assert parser.parse(body, START).readings == [(100_000_000, 5.0)]


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        ({"_type": "location", "tst": 1698501144, "lat": 1.0, "lon": 2.0, "vel": 36}, [10.0]),
        ({"_type": "location", "tst": 1698501144, "vel": -1}, []),
        ({"_type": "location", "tst": 1698501144}, []),
        ({"_type": "lwt", "tst": 1698501144}, []),
        ({"_type": "transition", "event": "enter"}, []),
        ({"_type": "location", "vel": 3}, None),
    ],
)
def test_owntracks_has_the_speed(document: dict[str, Any], expected: list[float] | None) -> None:
    parser = APP_FORMATS["owntracks"]("speed")
    body = json.dumps(document).encode()
    if expected is None:
        with pytest.raises(InvalidSample, match="'tst' must be seconds since 1970"):
            parser.parse(body, 0)
    else:
        assert [reading.value for reading in parser.parse(body, 0).readings] == expected


def test_a_homes_states(tmp_path: Path) -> None:
    """Check that a number is a reading, a choice is the label, and other states are ignored."""
    transport = task_of("light", sensor={"rate": 0.1, "window": 2, "every": 0})
    with (
        closing(join(tmp_path / "device", transport)),
        closing(DeviceStore(tmp_path / "device")) as s,
    ):
        intake = Intake(s, "statestream")
        for second, topic, state in (
            (0, "home/input_select/comfort/state", b"Walking"),
            (10, "home/sensor/light/state", b"120"),
            (20, "home/sensor/light/state", b'"140.5"'),
            (25, "home/sensor/light/unit_of_measurement", b'"lx"'),
            (30, "home/sensor/light/state", b"unavailable"),
            (35, "home/sensor/light/state", b"100"),
            (45, "home/sensor/light/state", b"100"),
            (46, "home/input_select/comfort/state", b"unknown"),
            (55, "home/sensor/light/state", b"100"),
            (65, "home/sensor/light/state", b"100"),
            (75, "home/sensor/light/state", b"100"),
        ):
            intake.take(state, topic, second * SECOND)
        assert labels_in(s) == ["Walking"] * 4


def test_a_task_without_the_sensor(tmp_path: Path) -> None:
    file = tmp_path / "device"
    with (
        closing(join(file, task_of("sound"))),
        closing(DeviceStore(file)) as store,
        pytest.raises(InvalidInput, match="reads sound, which termux does not have"),
    ):
        Intake(store, "termux")


# Who may post


def test_a_secret_is_needed(store: DeviceStore) -> None:
    intake, body = Intake(store, "sensor-logger"), messages_of(*readings(0, 1))
    with listening(intake, path="secret") as app:
        assert post(app, body, "/")[0] == post(app, body, "/secre")[0] == 404
        assert post(app, body, "/secret", Origin="https://elsewhere.example")[0] == 403
        assert post(app, body, "/secret")[0] == 200
        app.request("GET", "/secret")
        answer = app.getresponse()
        assert answer.status == 200
        page = answer.read().decode()
        assert "/secret</code>" in page
        assert "<svg" in page, "the QR code of the address"
    with listening(intake, user="ann", password="p:w") as app:
        right, wrong = (f"Basic {b64encode(code).decode()}" for code in (b"ann:p:w", b"ann:pw"))
        rejected = (401, "The app must send this device's user name and password.")
        assert post(app, body) == post(app, body, Authorization=wrong) == rejected
        assert post(app, body, Authorization="Basic é".encode().decode("latin1"))[0] == 401
        assert post(app, body, Authorization=right)[0] == 200
    assert intake.counts.lines == 2


def test_bodies_are_bounded(store: DeviceStore) -> None:
    with listening(Intake(store, "sensor-logger")) as app:
        app.putrequest("POST", "/")
        app.putheader("Content-Length", str(LARGEST_MESSAGE + 1))
        app.endheaders()
        assert app.getresponse().status == 413
    with listening(Intake(store, "sensor-logger")) as app:
        app.putrequest("POST", "/")
        app.endheaders()
        assert app.getresponse().status == 411


def test_with_a_certificate(store: DeviceStore, tmp_path: Path) -> None:
    certificate, key = self_signed(tmp_path, "127.0.0.1")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    intake = Intake(store, "sensor-logger")
    listener = Listener(ListenAddress("https", "127.0.0.1", 0), intake, context)
    trusting = ssl.create_default_context(cafile=certificate)
    app = http.client.HTTPSConnection("127.0.0.1", listener.port, context=trusting)
    try:
        assert post(app, messages_of(*readings(0, 1))) == (200, "[]")
    finally:
        app.close()
        listener.close()


@pytest.mark.parametrize("source", ["http://0.0.0.0", "http://ann@h:1", "http://:1", "http://h:x"])
def test_addresses_to_listen_on(source: str) -> None:
    with pytest.raises(InvalidInput, match="a port's address must be http"):
        read_listen_address(source)


def test_addresses_of_phones() -> None:
    assert read_phone_address("phyphox://10.0.0.7:80").port == 80
    with pytest.raises(InvalidInput, match="a phone's address must be phyphox"):
        read_phone_address("phyphox://")


# docs/home.md


def owntracks(second: int, speed: float) -> tuple[str, str]:
    message = {"_type": "location", "tst": second, "lat": 1.5, "lon": 2.5, "acc": 12, "vel": speed}
    return "owntracks/ann/phone", json.dumps(message | {"batt": 80})


EXAMPLES = {
    "owntracks": (
        "speed",
        [("owntracks/ann/phone", '{"_type": "lwt", "tst": 0}')]
        + [owntracks(1698501144 + 10 * n, 36) for n in range(6)],
    ),
    "statestream": (
        "light",
        [("statestream/input_select/activity/state", "Walking")]
        + 6 * [("statestream/sensor/living_room_illuminance/state", "10")],
    ),
}


@pytest.mark.parametrize("format", EXAMPLES)
def test_the_examples_for_a_home(format: str, tmp_path: Path) -> None:
    """Read the command's topic from a real broker, with what the app publishes there."""
    page = (ROOT / "docs" / "home.md").read_text()
    (topic,) = re.findall(rf"--source mqtt://homeassistant.local/(\S+) --format {format}", page)
    kind, messages = EXAMPLES[format]
    sensor = {"rate": 0.1, "window": 2, "every": 0, "scale": 100}
    file, running = tmp_path / "device", list[Intake]()

    def clock() -> int:
        """Let ten seconds pass with each message."""
        return START + 10 * SECOND * sum(each.counts.lines for each in running)

    with (
        broker_in(tmp_path / "broker") as broker,
        closing(join(file, task_of(kind, sensor=sensor))) as device,
        closing(DeviceStore(file)) as store,
    ):
        if format == "owntracks":
            set_label(store, "Walking", 1)
        intake = Intake(store, format, clock=clock)
        running.append(intake)
        address = read_address(f"mqtt://127.0.0.1:{broker.port}/{topic}")
        client = session_name(device, address.topic)
        session = Broker(address, client, retry_timer=RetryTimer(base=0.01))
        published = threading.Event()

        def stopped() -> bool:
            if not published.is_set() and broker.n_subscriptions():
                published.set()
                with broker.talking() as home:
                    for where, payload in messages:
                        home.publish(where, payload, qos=1, retain=True).wait_for_publish(PATIENCE)
            return intake.counts.lines == len(messages)

        feed_from_topic(device, session, client, stopped=stopped, intake=intake)
        assert set(labels_in(store)) == {"Walking"}
        mean = [float(memoryview(x).cast("d")[0]) for x, _ in kept(store)]
    assert mean == pytest.approx([0.1] * len(mean))
    assert len(mean) >= 2

"""Test samples from a real broker: each is kept before it is acknowledged, and kept once."""

import json
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from crowdml.demo import free_port
from crowdml.device import Device, DeviceStore, Outcome, RetryTimer, SourceCounts
from crowdml.device.sources.address import TopicAddress, read_address
from crowdml.device.sources.mqtt.broker import Broker
from crowdml.device.sources.mqtt.topic import LARGEST_MESSAGE, feed_from_topic, session_name
from crowdml.errors import CrowdmlError, DeviceError, InvalidInput, Unreachable, Untrusted
from crowdml.privacy import Limits
from tests.device.fakes import MemoryTransport, join
from tests.support.brokers import TOPIC, Mosquitto, broker_in
from tests.support.servers import PATIENCE, eventually, make_direction_task, make_task


@pytest.fixture
def mosquitto(tmp_path: Path) -> Iterator[Mosquitto]:
    with broker_in(tmp_path / "broker") as broker:
        yield broker


@pytest.fixture
def transport() -> MemoryTransport:
    return MemoryTransport(make_task(collection__batch=20))


@pytest.fixture
def device(tmp_path: Path, transport: MemoryTransport) -> Iterator[Device]:
    with closing(join(tmp_path / "device", transport)) as device:
        yield device


def sample(first: float, label: str = "walk") -> str:
    return json.dumps({"x": [first, 0.0, 0.0, 0.0], "y": label})


def kept(device: Device) -> list[float]:
    """Return the first feature of each sample in the buffer."""
    rows = device._store._db.execute("SELECT x FROM buffer ORDER BY id").fetchall()
    return [float(memoryview(row[0]).cast("d")[0]) for row in rows]


class Listener:
    """Connect a device to a broker until a condition holds."""

    def __init__(self, device: Device, address: TopicAddress, **options: Any) -> None:
        self.device = device
        self.client = session_name(device, address.topic)
        retry_timer = RetryTimer(base=0.01, longest=0.1)
        self.broker = Broker(address, self.client, retry_timer=retry_timer, **options)
        self.skipped: list[str] = []

    def until(self, true: Callable[[], bool]) -> SourceCounts:
        deadline = time.monotonic() + PATIENCE

        def stopped() -> bool:
            assert time.monotonic() < deadline, self.skipped
            return true()

        return feed_from_topic(
            self.device,
            self.broker,
            self.client,
            stopped=stopped,
            on_skip=lambda error: self.skipped.append(str(error)),
        )

    @contextmanager
    def running(self) -> Iterator[None]:
        """Run in a separate thread."""
        done = threading.Event()
        with ThreadPoolExecutor(1) as pool:
            running = pool.submit(self.until, done.is_set)
            try:
                yield
            finally:
                done.set()
                running.result(PATIENCE)


def listener(device: Device, mosquitto: Mosquitto, **options: Any) -> Listener:
    return Listener(device, read_address(mosquitto.source), **options)


def subscribe(device: Device, mosquitto: Mosquitto) -> None:
    """Subscribe, so that the broker keeps what is published from now on."""
    before = mosquitto.n_subscriptions()
    listener(device, mosquitto).until(lambda: mosquitto.n_subscriptions() > before)


def test_every_message_is_one_sample(device: Device, mosquitto: Mosquitto) -> None:
    subscribe(device, mosquitto)
    mosquitto.publish(
        sample(0.1), sample(0.2, "run"), '{"x": [0.3, 0, 0, 0], "y": "still", "at": 7}'
    )
    counts = listener(device, mosquitto).until(lambda: device.n_samples == 3)
    assert kept(device) == [0.1, 0.2, 0.3]
    assert (counts.kept, counts.skipped, counts.answered) == (3, 0, 0)


def test_bad_messages_are_skipped_and_named(device: Device, mosquitto: Mosquitto) -> None:
    subscribe(device, mosquitto)
    bad: list[bytes | str] = ["nonsense", b"\xff\xfe", "{}", sample(0.5, "fly")]
    bad += ['{"x": [1], "y": "walk"}', '{"x":' + "[" * 2000, sample(0.3) + LARGEST_MESSAGE * " "]
    mosquitto.publish(*bad, "", " ", sample(0.1), "oops", sample(0.2))
    heard = listener(device, mosquitto)
    counts = heard.until(lambda: device.n_samples == 2)
    assert kept(device) == [0.1, 0.2]
    assert (counts.kept, counts.skipped) == (2, len(bad) + 1)
    numbers = [each.split(":")[0] for each in heard.skipped]
    assert numbers == [f"message {i}" for i in (1, 2, 3, 4, 5, 6, 7, 11)]
    assert heard.skipped[0].startswith('message 1: expected {"x": [numbers], "y": label}, found')
    assert "y must be one of still, walk, run, found 'fly'." in heard.skipped[3]
    assert heard.skipped[4] == "message 5: x must be 4 numbers, found 1."
    assert heard.skipped[6].startswith("message 7: a message must have at most 16,777,216 bytes,")


def test_what_was_retained_is_no_news(device: Device, mosquitto: Mosquitto) -> None:
    """Check that retained messages are ignored: they would count with every connection."""
    mosquitto.publish(sample(0.9), retain=True)
    for _ in range(2):
        subscribe(device, mosquitto)
    mosquitto.publish(sample(0.1))
    listener(device, mosquitto).until(lambda: device.n_samples > 0)
    assert kept(device) == [0.1]


def mute(heard: Listener, monkeypatch: pytest.MonkeyPatch) -> None:
    """Drop the acknowledgements of a broker's client."""
    monkeypatch.setattr(heard.broker._client, "ack", lambda number, qos: None)


@pytest.mark.parametrize("qos", [0, 1])
def test_a_repetition_is_not_kept_again(
    device: Device, mosquitto: Mosquitto, monkeypatch: pytest.MonkeyPatch, qos: int
) -> None:
    """Repeat a message, also after a message of QoS 0 that overtakes its acknowledgement."""
    subscribe(device, mosquitto)
    mosquitto.publish(sample(0.1))
    heard = listener(device, mosquitto)
    mute(heard, monkeypatch)
    with heard.running():
        assert eventually(lambda: device.n_samples == 1)
        mosquitto.publish(sample(0.2), qos=qos)
        assert qos == 1 or eventually(lambda: device.n_samples == 2)
    assert kept(device) == [0.1, 0.2][: 2 - qos]
    mosquitto.publish(sample(0.3))
    listener(device, mosquitto).until(lambda: 0.3 in kept(device))
    assert f"Sending PUBLISH to {heard.client} (d1, q1" in mosquitto.log
    assert kept(device) == [0.1, 0.2, 0.3]


def test_a_cut_connection(device: Device, mosquitto: Mosquitto) -> None:
    """Check that unstored messages come again, and no other is acknowledged for them."""
    subscribe(device, mosquitto)
    mosquitto.publish(*(sample(i / 100) for i in range(8)))
    heard = listener(device, mosquitto)
    received = heard.broker._client.on_message
    assert received is not None
    cuts = []

    def cutting(client: Any, data: Any, message: Any) -> None:
        received(client, data, message)
        if message.mid % 2 and not message.dup:
            cuts.append(message.mid)
            client.socket().shutdown(socket.SHUT_RDWR)

    heard.broker._client.on_message = cutting
    heard.until(lambda: device.n_samples == 8 and not heard.broker.inbox)
    assert len(cuts) == 4
    assert kept(device) == [i / 100 for i in range(8)]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_the_broker_goes_away_and_comes_back(
    device: Device, mosquitto: Mosquitto, number: int, caplog: pytest.LogCaptureFixture
) -> None:
    subscribe(device, mosquitto)
    mosquitto.publish(sample(0.1))
    with listener(device, mosquitto).running():
        assert eventually(lambda: device.n_samples == 1)
        mosquitto.stop(number)
        assert eventually(lambda: "lost the broker 127.0.0.1" in caplog.text)
        before = mosquitto.n_subscriptions()
        mosquitto.start()
        assert eventually(lambda: mosquitto.n_subscriptions() > before)
        mosquitto.publish(sample(0.2))
        assert eventually(lambda: device.n_samples == 2)
    assert kept(device) == [0.1, 0.2]
    assert caplog.text.count("Will try again.") == 1


def test_a_full_buffer_leaves_messages_with_the_broker(
    device: Device, transport: MemoryTransport, mosquitto: Mosquitto
) -> None:
    transport.down = Unreachable("no network.")
    subscribe(device, mosquitto)
    mosquitto.publish(*(sample(i / 100) for i in range(40)))
    heard = listener(device, mosquitto)
    counts = heard.until(lambda: bool(heard.broker.inbox))
    assert counts.outcome is Outcome.WAITING
    assert device.n_samples == 30
    transport.down = None
    counts = listener(device, mosquitto).until(lambda: device.n_samples == 10)
    assert (counts.kept, counts.answered) == (10, 1)
    assert kept(device) == [i / 100 for i in range(30, 40)]


def test_a_message_that_waits_is_held_once(
    device: Device, transport: MemoryTransport, mosquitto: Mosquitto
) -> None:
    """Check that a waiting message is dropped with its connection, since it will come again."""
    transport.down = Unreachable("no network.")
    for _ in range(30):
        device.add([0.1, 0, 0, 0], "walk")
    subscribe(device, mosquitto)
    mosquitto.publish(sample(0.5))
    heard = listener(device, mosquitto)
    with heard.running():
        assert eventually(lambda: len(heard.broker.inbox) == 1)
        mosquitto.stop()
        mosquitto.start()
        assert eventually(lambda: "(d1, q1" in mosquitto.log and len(heard.broker.inbox) > 0)
        assert [message.repeated for message in heard.broker.inbox] == [True]


def test_what_cannot_wait_is_named(
    device: Device, transport: MemoryTransport, mosquitto: Mosquitto
) -> None:
    transport.down = Unreachable("no network.")
    for _ in range(30):
        device.add([0.1, 0, 0, 0], "walk")
    heard = listener(device, mosquitto)
    with heard.running():
        assert eventually(lambda: mosquitto.n_subscriptions() == 1)
        mosquitto.publish(sample(0.5), qos=0)
        assert eventually(lambda: bool(heard.skipped))
    assert (
        "not kept, buffer full, and with QoS 0 it cannot wait. Publish with 1." in heard.skipped[0]
    )


def test_it_ends_when_all_check_ins_are_made(tmp_path: Path, mosquitto: Mosquitto) -> None:
    transport = MemoryTransport(make_direction_task(collection__checkins=2, privacy__epsilon=8.0))
    with closing(join(tmp_path / "device", transport)) as device:
        subscribe(device, mosquitto)
        mosquitto.publish(*(sample(i / 100) for i in range(9)))
        heard = listener(device, mosquitto)
        gone = f"Client {heard.client} disconnected"
        counts = heard.until(lambda: False)
        assert (counts.kept, counts.answered, len(transport.bodies)) == (6, 2, 2)
        assert "all check-ins that you agreed to are made" in str(device.ended)
        assert eventually(lambda: mosquitto.log.count(gone) == 2)
        mosquitto.stop()
        kept_by_broker = (mosquitto.folder / "mosquitto.db").read_bytes()
        assert heard.client.encode() not in kept_by_broker, "nobody will ever come for these"
        assert listener(device, mosquitto).until(lambda: False).kept == 0


def test_a_limit_is_waited_for(
    device: Device, tmp_path: Path, transport: MemoryTransport, mosquitto: Mosquitto
) -> None:
    """Raise the limit from another process; the device goes on."""
    device.set_limits(Limits(1.0, 0.5))
    subscribe(device, mosquitto)
    mosquitto.publish(*(sample(i / 100) for i in range(20)))
    with listener(device, mosquitto).running():
        assert eventually(lambda: device.n_samples == 20)
        with closing(DeviceStore(tmp_path / "device")) as store:
            Device(store, transport).set_limits(Limits(1.0, 5.0))
        assert eventually(lambda: device.n_answered == 1)


# Rejected addresses and brokers


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # paho's socket
def test_tls_and_a_password(device: Device, tmp_path: Path) -> None:
    with broker_in(tmp_path / "guarded", guarded=True) as broker:
        options = {"authorities": broker.certificate}
        listener(device, broker, **options).until(lambda: broker.n_subscriptions() > 0)
        broker.publish(sample(0.1))
        listener(device, broker, **options).until(lambda: device.n_samples == 1)

        wrong = read_address(broker.source.replace("p%40ss", "guess"))
        with pytest.raises(
            InvalidInput, match=r"rejected the connection: Not authorized\. Look at the user"
        ) as heard:
            Listener(device, wrong, **options).until(lambda: False)
        assert "guess" not in str(heard.value)
        with pytest.raises(Untrusted, match=r"not trusted: .* add --ca FILE"):
            listener(device, broker).until(lambda: False)
        elsewhere = read_address(broker.source.replace("localhost", "127.0.0.2"))
        with pytest.raises(Untrusted, match=r"127\.0\.0\.2"):
            Listener(device, elsewhere, **options).until(lambda: False)
        assert broker.n_subscriptions() == 2


def test_authorities_that_are_none(tmp_path: Path) -> None:
    address = read_address(f"mqtts://localhost/{TOPIC}")
    (tmp_path / "empty").touch()
    for file in (tmp_path / "missing", tmp_path / "empty"):
        with pytest.raises(InvalidInput, match="--ca must be a file of certificates in PEM"):
            Broker(address, "client", file)


@pytest.mark.parametrize("topic", ["a#", "#/a", "a+/b"])
def test_a_topic_that_is_none(device: Device, mosquitto: Mosquitto, topic: str) -> None:
    address = read_address(f"mqtt://127.0.0.1:{mosquitto.port}/{topic}")
    with pytest.raises(InvalidInput, match=r"a topic must have \+ or # as whole levels only"):
        Listener(device, address).until(lambda: False)


@pytest.mark.parametrize("host", ["127.0.0.1", "a..b"])
def test_no_broker_at_all(device: Device, caplog: pytest.LogCaptureFixture, host: str) -> None:
    address = read_address(f"mqtt://{host}:{free_port()}/{TOPIC}")
    Listener(device, address).until(lambda: f"cannot reach the broker {host}" in caplog.text)


CONNACK, SUBACK = b"\x20\x03\x00\x00\x00", b"\x90\x04\x00\x01\x00\x01"


@contextmanager
def answering(*answers: bytes) -> Iterator[TopicAddress]:
    """Act as a broker that gives these answers, one for each packet, to every client."""
    with socket.create_server(("127.0.0.1", 0)) as server, ThreadPoolExecutor(1) as pool:

        def serve() -> None:
            while True:
                try:
                    client, _ = server.accept()
                except OSError:
                    return
                client.settimeout(PATIENCE)
                with client, suppress(OSError):
                    for answer in answers:
                        client.recv(4096)
                        client.sendall(answer)

        pool.submit(serve)
        try:
            yield read_address(f"mqtt://127.0.0.1:{server.getsockname()[1]}/{TOPIC}")
        finally:
            server.shutdown(socket.SHUT_RDWR)


@pytest.mark.parametrize(
    ("answers", "kind", "message"),
    [
        (
            [b"\x20\x02\x00\x01"],
            InvalidInput,
            r"rejected the connection: Unsupported protocol .* speak MQTT 5",
        ),
        (
            [b"\x20\x03\x00\x87\x00"],
            InvalidInput,
            r"rejected the connection: Not authorized\. Look at the user",
        ),
        ([CONNACK, SUBACK[:-1] + b"\x00"], InvalidInput, "must grant QoS 1 .*: Granted QoS 0"),
        ([CONNACK, SUBACK[:-1] + b"\x87"], InvalidInput, "must grant QoS 1 .*: Not authorized"),
        ([CONNACK, SUBACK + b"\xe0\x02\x8e\x00"], DeviceError, "one process may read"),
    ],
)
def test_brokers_that_say_no(
    device: Device, answers: list[bytes], kind: type[CrowdmlError], message: str
) -> None:
    with answering(*answers) as address, pytest.raises(kind, match=message):
        Listener(device, address).until(lambda: False)


def published(payload: str) -> bytes:
    """Make message 1, of QoS 1, not marked as a repetition."""
    body = b"\x00\x01t\x00\x01\x00" + payload.encode()
    return bytes([0x32, len(body)]) + body


def test_a_number_may_be_used_again(device: Device) -> None:
    """Send an equal message under the same number, on the same connection."""
    message = published(sample(0.1))
    with answering(CONNACK, SUBACK + message, message) as address:
        Listener(device, address).until(lambda: device.n_samples == 2)


@pytest.mark.parametrize("present", [False, True])
def test_a_broker_that_forgot_what_it_sent(
    device: Device, present: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """Check that the first message may be a repetition in a resumed session only."""
    connack = CONNACK[:2] + bytes([present]) + CONNACK[3:]
    with answering(connack, SUBACK + published(sample(0.1))) as address:
        Listener(device, address).until(lambda: caplog.text.count("lost the broker") == 3)
    assert device.n_samples == (1 if present else 3)


@pytest.mark.parametrize(
    "answers",
    [
        [b""],
        [b"HTTP/1.1 400 Bad Request\r\n\r\n"],
        [b"\x20\x03\x00\x88\x00"],
        [CONNACK, b"\x30\x01a"],
    ],
)
def test_brokers_that_make_no_sense_or_ask_to_wait(
    device: Device, answers: list[bytes], caplog: pytest.LogCaptureFixture
) -> None:
    with answering(*answers) as address, Listener(device, address).running():
        assert eventually(lambda: "Will try again." in caplog.text)


def test_sessions_belong_to_a_device_and_a_topic(
    device: Device, tmp_path: Path, transport: MemoryTransport
) -> None:
    with join(tmp_path / "another", transport) as other:
        names = [session_name(device, "a"), session_name(device, "b"), session_name(other, "a")]
    assert len(set(names)) == 3
    assert all(len(name) == 23 and name.isalnum() for name in names)
    with Device(DeviceStore(tmp_path / "device"), transport) as again:
        assert session_name(again, "a") == names[0]

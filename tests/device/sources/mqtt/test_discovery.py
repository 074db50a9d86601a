"""Test what is published in a home: every promised value, and nothing of a sample."""

import json
import signal
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from crowdml.device import Device
from crowdml.device.sources.address import read_address
from crowdml.device.sources.mqtt.broker import Broker
from crowdml.device.sources.mqtt.discovery import Discovery
from crowdml.device.sources.mqtt.topic import feed_from_topic, session_name
from crowdml.errors import Unreachable
from tests.device.fakes import MemoryTransport, join
from tests.support.brokers import TOPIC, Mosquitto, broker_in
from tests.support.servers import PATIENCE, eventually, make_direction_task, make_task

KEYS = ["state", "samples", "checkins", "epsilon"]


@pytest.fixture
def mosquitto(tmp_path: Path) -> Iterator[Mosquitto]:
    with broker_in(tmp_path / "broker") as broker:
        yield broker


class Home:
    """Run a device until a condition holds, and return what the broker then has."""

    def __init__(self, device: Device, mosquitto: Mosquitto) -> None:
        self.device, self.mosquitto = device, mosquitto
        self.client = session_name(device, TOPIC)

    def until(self, **wanted: Any) -> None:
        discovery = Discovery(self.client, "activity")
        address = read_address(self.mosquitto.source)
        broker = Broker(address, self.client, availability=discovery.availability)

        deadline = time.monotonic() + PATIENCE

        def is_found() -> bool:
            assert time.monotonic() < deadline, self.found()
            return self.state | wanted == self.state

        feed_from_topic(self.device, broker, self.client, discovery=discovery, stopped=is_found)

    def found(self) -> dict[str, bytes | bytearray]:
        return self.mosquitto.retained()

    @property
    def state(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.found().get(f"crowdml/{self.client}/state", b"{}"))
        return found

    @property
    def available(self) -> bytes | bytearray:
        return self.found()[f"crowdml/{self.client}/availability"]


def test_four_sensors_of_one_device(tmp_path: Path, mosquitto: Mosquitto) -> None:
    with closing(join(tmp_path / "device", MemoryTransport(make_task()))) as device:
        home = Home(device, mosquitto)
        home.until(state="collecting")
        found = home.found()
    configs = {
        topic.split("/")[3]: json.loads(payload)
        for topic, payload in found.items()
        if topic.startswith(f"homeassistant/sensor/{home.client}/") and topic.endswith("/config")
    }
    assert sorted(configs) == sorted(KEYS)
    assert len(found) == 4 + 2, "and a state, and whether it is there"
    assert len({config["unique_id"] for config in configs.values()}) == 4
    for key, config in configs.items():
        assert config["device"] == {"identifiers": [home.client], "name": "crowdml activity"}
        assert config["state_topic"] in found
        assert config["availability_topic"] in found
        assert config["value_template"] == f"{{{{ value_json.{key} }}}}"
        assert config["name"]
    assert configs["state"]["options"] == ["collecting", "waiting", "ended"]
    attributes = configs["epsilon"]["json_attributes_template"]
    assert attributes == (
        "{{ {'promise': value_json['promise'], 'level': value_json['level'], "
        "'per_device': value_json['per_device']} | tojson }}"
    )


def test_what_the_state_says(tmp_path: Path, mosquitto: Mosquitto) -> None:
    transport = MemoryTransport(make_direction_task(collection__checkins=2, privacy__epsilon=8.0))
    with closing(join(tmp_path / "device", transport)) as device:
        home = Home(device, mosquitto)
        home.until(state="collecting", why="", samples=0, checkins=0, epsilon=0.0, per_device=8.0)
        assert home.available == b"offline", "it was stopped, and says so"
        transport.down = Unreachable("no network.")
        for _ in range(3):
            device.add([0.1, 0.2, 0.3, 0.4], "walk")
        home.until(state="waiting", why="waiting to retry", samples=3)
        transport.down = None
        said = "ε = 8, for everything that you send to this task."
        home.until(state="collecting", samples=0, checkins=1, epsilon=4.0, promise=said)
        mosquitto.publish(*3 * ['{"x": [0.1, 0.2, 0.3, 0.4], "y": "walk"}'])
        home.until(state="never: it ends by itself")
        assert device.ended
        assert home.state | {"state": "ended", "why": device.ended, "epsilon": 8.0} == home.state
        assert home.available == b"online", "what it says last is shown for good"


@pytest.mark.parametrize(
    ("epsilon", "whom"),
    [
        (1.0, "ε = 20 for one sample in each of 20 check-ins, and ε = 1 for a single sample."),
        (
            float("inf"),
            "It sends numbers from which your samples can be worked out (ε = ∞).",
        ),
    ],
)
def test_whom_noise_protects(
    tmp_path: Path, mosquitto: Mosquitto, epsilon: float, whom: str
) -> None:
    transport = MemoryTransport(make_task(privacy__epsilon=epsilon))
    with closing(join(tmp_path / "device", transport, accept_no_privacy=True)) as device:
        for _ in range(6):
            device.add([0.1, 0.2, 0.3, 0.4], "walk")
        spent = None if epsilon == float("inf") else 2.0
        Home(device, mosquitto).until(checkins=2, epsilon=spent, promise=whom)


def test_no_sample_and_no_token(tmp_path: Path, mosquitto: Mosquitto) -> None:
    with closing(join(tmp_path / "device", MemoryTransport(make_task()))) as device:
        home = Home(device, mosquitto)
        home.until(samples=0)
        mosquitto.publish('{"x": [0.12345, 0, 0, 0], "y": "walk"}', '{"x": [0.98765], "y": 1}')
        home.until(samples=1)
        published = b"".join(home.found().values()).decode()
        assert home.found().keys() == {topic for topic in home.found() if TOPIC not in topic}
    for secret in ("12345", "98765", "walk", device.identity.token, device.identity.device, TOPIC):
        assert secret not in published


def test_a_broker_that_forgot_is_told_again(tmp_path: Path, mosquitto: Mosquitto) -> None:
    with closing(join(tmp_path / "device", MemoryTransport(make_task()))) as device:
        home = Home(device, mosquitto)
        home.until(samples=0)
        before = home.found()
        mosquitto.stop(signal.SIGKILL)
        (mosquitto.folder / "mosquitto.db").unlink()
        mosquitto.start()
        assert not home.found()
        home.until(samples=0)
        assert home.found() == before


def test_the_last_will(tmp_path: Path, mosquitto: Mosquitto) -> None:
    with closing(join(tmp_path / "device", MemoryTransport(make_task()))) as device:
        home = Home(device, mosquitto)
        discovery = Discovery(home.client, "activity")
        address = read_address(mosquitto.source)
        broker = Broker(address, home.client, availability=discovery.availability)

        def is_told() -> bool:
            broker.poll(0.1)
            return discovery.availability in home.found()

        assert eventually(is_told)
        assert home.available == b"online"
        socket = broker._client.socket()
        assert socket is not None
        socket.close()  # without saying goodbye, like a crash
        assert eventually(lambda: home.available == b"offline")

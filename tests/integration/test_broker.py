"""From a broker to a server: nothing is lost and nothing told twice, whoever dies."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from crowdml.device import Device
from tests.brokers import Mosquitto, broker_in, eventually
from tests.cli.command import COMMAND, environment
from tests.device.fakes import one_hot
from tests.integration.crowd import FEATURES, Collector, log_of, telltale, uses
from tests.listening import STEPS
from tests.servers import PATIENCE, Process, Start

DYING = Path(__file__).parents[1] / "listening.py"


@pytest.fixture
def mosquitto(tmp_path: Path) -> Iterator[Mosquitto]:
    with broker_in(tmp_path / "broker") as broker:
        yield broker


class Listening:
    """`crowdml device run` on a topic, started again and again."""

    def __init__(self, server: Process, mosquitto: Mosquitto, folder: Path) -> None:
        self.server, self.mosquitto, self.folder = server, mosquitto, folder
        self.device = Collector(server.url, folder)
        Device.join(server.url, "activity", file=self.device.file, accept_no_privacy=True).close()

    def start(self, *before: str) -> "subprocess.Popen[str]":
        options = ["--file", str(self.device.file), "--source", self.mosquitto.source]
        return subprocess.Popen(
            [*(before or COMMAND), "device", "run", *options],
            env=environment(self.folder),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def dies(self, step: str, times: int) -> None:
        process = self.start(sys.executable, "-P", str(DYING), step, str(times))
        process.communicate(timeout=PATIENCE)
        assert process.returncode == -signal.SIGKILL

    def subscribe(self) -> None:
        """The broker keeps from now on what the device has not acknowledged."""
        process, before = self.start(), self.mosquitto.n_subscriptions()
        assert eventually(lambda: self.mosquitto.n_subscriptions() > before)
        self.stop(process)

    def stop(self, process: "subprocess.Popen[str]", number: int = signal.SIGTERM) -> str:
        process.send_signal(number)
        out, err = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0, err
        return out

    def publish(self, *samples: int) -> None:
        for i in samples:
            message = {"x": one_hot(i, FEATURES).tolist(), "y": i % 2}
            self.mosquitto.publish(json.dumps(message))

    def n_used(self) -> int:
        return sum(entry.samples or 0 for entry in log_of(self.server))


@pytest.fixture
def listening(start: Start, mosquitto: Mosquitto, tmp_path: Path) -> Listening:
    return Listening(start(telltale()), mosquitto, tmp_path)


def test_from_a_message_to_a_check_in(listening: Listening) -> None:
    listening.subscribe()
    process = listening.start()
    listening.publish(*range(7))
    assert eventually(lambda: listening.n_used() == 6 and listening.device.waiting() == 1)
    out = listening.stop(process, signal.SIGINT)
    assert out == "7 samples kept, 2 check-ins answered, 1 samples in the buffer\n"
    assert uses(log_of(listening.server)).tolist() == [1] * 6 + [0] * (FEATURES - 6)


@pytest.mark.parametrize("step", STEPS)
def test_a_device_killed_at_a_step(listening: Listening, step: str) -> None:
    listening.subscribe()
    listening.publish(*range(30))
    for times in (1, 2, 3):
        listening.dies(step, times)
    process = listening.start()
    assert eventually(lambda: listening.n_used() == 30), "a sample was lost"
    listening.stop(process)
    used = uses(log_of(listening.server))
    assert used.max() == 1, "a sample was told twice"
    assert used[:30].sum() == 30
    assert listening.device.waiting() == 0
    assert set(listening.device.answers().values()) <= {"applied", "duplicate"}


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_broker_killed_under_a_running_device(listening: Listening, number: int) -> None:
    mosquitto = listening.mosquitto
    listening.subscribe()
    process = listening.start()
    listening.publish(*range(6))
    assert eventually(lambda: listening.n_used() == 6)
    before = mosquitto.n_subscriptions()
    mosquitto.stop(number)
    mosquitto.start()
    assert eventually(lambda: mosquitto.n_subscriptions() > before)
    listening.publish(*range(6, 12))
    assert eventually(lambda: listening.n_used() == 12)
    listening.stop(process)
    assert uses(log_of(listening.server))[:12].tolist() == [1] * 12

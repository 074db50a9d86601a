"""Start real MQTT brokers for tests: mosquitto on a free port, in a separate folder."""

import os
import shutil
import signal
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import paho.mqtt.client as mqtt
from paho.mqtt.enums import CallbackAPIVersion

from crowdml.certificate import self_signed
from crowdml.demo import free_port
from tests.support.servers import PATIENCE, eventually

TOPIC, USER, PASSWORD = "home/samples", "ann", "p@ss/word"
SBIN = f"{os.environ['PATH']}:/usr/sbin:/usr/local/sbin"


@dataclass
class Mosquitto:
    """Run one broker, which may start several times, keeps its sessions, and logs everything."""

    folder: Path
    guarded: bool = False
    port: int = field(default_factory=free_port)
    process: "subprocess.Popen[bytes] | None" = None

    @property
    def source(self) -> str:
        """Return the topic's address, with user and password if the broker asks for them."""
        if self.guarded:
            return f"mqtts://{USER}:p%40ss%2Fword@localhost:{self.port}/{TOPIC}"
        return f"mqtt://127.0.0.1:{self.port}/{TOPIC}"

    @property
    def certificate(self) -> Path:
        return self.folder / "crowdml-cert.pem"

    @property
    def log(self) -> str:
        return (self.folder / "log").read_text()

    def start(self) -> "Mosquitto":
        self._configure()
        program = shutil.which("mosquitto", path=SBIN)
        assert program, "the tests need mosquitto"
        self.process = subprocess.Popen([program, "-c", str(self.folder / "conf")])
        assert eventually(self._answers), self.log
        return self

    def stop(self, number: int = signal.SIGTERM) -> None:
        """Stop the broker: SIGTERM lets it save its sessions, SIGKILL does not."""
        if self.process:
            self.process.send_signal(number)
            self.process.wait(PATIENCE)
            self.process = None

    def publish(self, *payloads: bytes | str, qos: int = 1, retain: bool = False) -> None:
        with self.talking() as client:
            for payload in payloads:
                client.publish(TOPIC, payload, qos=qos, retain=retain).wait_for_publish(PATIENCE)

    def retained(self) -> dict[str, bytes | bytearray]:
        """Return what the broker keeps for later subscribers."""
        found: dict[str, bytes | bytearray] = {}
        done = threading.Event()

        def on_message(client: Any, data: Any, message: mqtt.MQTTMessage) -> None:
            if message.topic == "done":
                done.set()
            elif message.retain:
                found[message.topic] = message.payload

        with self.talking() as client:
            client.on_message = on_message
            client.subscribe("#")
            client.publish("done")
            assert done.wait(PATIENCE)
        return found

    def n_subscriptions(self) -> int:
        return self.log.count("Sending SUBACK to crowdml")

    @contextmanager
    def talking(self) -> Iterator[mqtt.Client]:
        connected = threading.Event()
        client = mqtt.Client(CallbackAPIVersion.VERSION2)
        client.on_connect = lambda *args: connected.set()
        if self.guarded:
            client.username, client.password = USER, PASSWORD
            client.tls_set(str(self.certificate))
        client.connect("localhost" if self.guarded else "127.0.0.1", self.port)
        client.loop_start()
        try:
            assert connected.wait(PATIENCE)
            yield client
        finally:
            client.disconnect()
            client.loop_stop()

    def _answers(self) -> bool:
        with suppress(OSError), socket.create_connection(("127.0.0.1", self.port), PATIENCE):
            return True
        return False

    def _configure(self) -> None:
        lines = [
            f"allow_anonymous {str(not self.guarded).lower()}",
            "user root",
            "persistence true",
            f"persistence_location {self.folder}/",
            "autosave_on_changes true",
            "autosave_interval 1",
            f"log_dest file {self.folder}/log",
            "log_type all",
        ]
        if self.guarded:
            certificate, key = self_signed(self.folder, "localhost")
            passwords = self.folder / "passwords"
            add = ["mosquitto_passwd", "-b", "-c", str(passwords), USER, PASSWORD]
            subprocess.run(add, check=True)
            lines.append(f"password_file {passwords}")
            # The second address is not in the certificate.
            for address in ("127.0.0.1", "127.0.0.2"):
                lines += [f"listener {self.port} {address}", f"certfile {certificate}"]
                lines.append(f"keyfile {key}")
        else:
            lines.append(f"listener {self.port} 127.0.0.1")
        (self.folder / "conf").write_text("\n".join(lines) + "\n")


@contextmanager
def broker_in(folder: Path, guarded: bool = False) -> Iterator[Mosquitto]:
    folder.mkdir()
    broker = Mosquitto(folder, guarded)
    try:
        yield broker.start()
    finally:
        broker.stop(signal.SIGKILL)

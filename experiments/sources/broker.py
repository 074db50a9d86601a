"""Start a Mosquitto to which Sensor Logger publishes with QoS 0."""

import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import paho.mqtt.client as mqtt
from paho.mqtt.enums import CallbackAPIVersion

from crowdml.demo.ports import free_port
from experiments.sources.apps import Message

TOPIC = "sensor-logger"


@contextmanager
def publishing(messages: list[Message]) -> Iterator[tuple[str, Callable[[], None]]]:
    """Return a broker's address, and a function that publishes all messages to a reader."""
    program = shutil.which("mosquitto", path="/usr/sbin:/usr/bin:/usr/local/sbin")
    assert program, "install mosquitto"
    with tempfile.TemporaryDirectory() as name:
        port, log = free_port(), Path(name) / "log"
        lines = [f"listener {port} 127.0.0.1", "allow_anonymous true", "log_type all"]
        lines += [f"log_dest file {log}", "max_queued_messages 0", "user root"]
        (Path(name) / "conf").write_text("\n".join(lines) + "\n")
        broker = subprocess.Popen([program, "-c", f"{name}/conf"])

        def publish() -> None:
            while not (log.exists() and "SUBACK to crowdml" in log.read_text()):
                time.sleep(0.05)
            connected = threading.Event()
            client = mqtt.Client(CallbackAPIVersion.VERSION2)
            client.on_connect = lambda *told: connected.set()
            client.connect("127.0.0.1", port)
            client.loop_start()
            connected.wait()
            for n, message in enumerate(messages):
                client.publish(TOPIC, message.body, qos=0).wait_for_publish()
                if n % 20 == 0:
                    time.sleep(0.02)  # an app sends one a second: what a socket drops is not lost
            client.disconnect()
            client.loop_stop()

        try:
            yield f"mqtt://127.0.0.1:{port}/{TOPIC}", publish
        finally:
            broker.terminate()
            broker.wait()

"""Write what sensor apps would have sent of one recording, byte for byte in structure.

Written from the apps' documentation and source: Sensor Logger's PUSHING.md, termux-sensor's
SensorAPI.java, phyphox's RemoteServer.java.
"""

import json
import math
import random
import threading
from bisect import bisect
from collections.abc import Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, urlsplit

LABELS = ("Still", "Walking", "Running", "Cycling")
PACE = {"Still": (0.02, 0.0), "Walking": (2.5, 1.8), "Running": (7.0, 2.7), "Cycling": (1.2, 1.1)}
"""How much a phone is shaken, in m/s², and how often a second."""

START = 1_698_501_144_401_773_000
"""Nanoseconds since 1970 at the first reading."""


class Moment(NamedTuple):
    """Hold a reading of the accelerometer, its milliseconds since the first, and its label."""

    ms: int
    x: float
    y: float
    z: float
    label: str

    @property
    def ns(self) -> int:
        return START + self.ms * 1_000_000


def record(seconds: float, rate: int = 50, stretch: float = 300.0, seed: int = 0) -> list[Moment]:
    """Make up an afternoon: a label for some minutes, a short rest without one, then the next.

    Times jitter by up to 3 ms, and have at most eight digits, which is what phyphox sends.
    """
    rng, found = random.Random(seed), []
    for k in range(round(seconds * rate)):
        ms = k * 1000 // rate + (rng.randint(-3, 3) if k else 0)
        nth, into = divmod(ms / 1000, stretch)
        label = LABELS[int(nth) % len(LABELS)] if into > stretch / 20 else ""
        strength, pace = PACE[label or "Still"]
        swing = strength * math.sin(2 * math.pi * pace * ms / 1000)
        parts = (rng.gauss(0, 0.2) + swing, rng.gauss(0, 0.2), 9.81 + rng.gauss(0, 0.2))
        x, y, z = (round(part, 4) for part in parts)
        found.append(Moment(ms, x, y, z, label))
    return found


def csv_of(moments: list[Moment]) -> str:
    """Write the same readings as `crowdml device run --readings` takes them."""
    lines = [f"{m.ms / 1000!r},{m.x!r},{m.y!r},{m.z!r},{m.label}" for m in moments]
    return "\n".join(["time,x,y,z,label", *lines]) + "\n"


# Sensor Logger


@dataclass(frozen=True)
class Message:
    """Hold a message of Sensor Logger, and its readings."""

    body: bytes
    moments: tuple[Moment, ...]


def sensor_logger(moments: list[Moment], period: int = 1000) -> list[Message]:
    """Write a message each `period` milliseconds; gyroscope and location interleave."""
    batches: dict[int, list[Moment]] = {}
    for moment in moments:
        batches.setdefault(moment.ms // period, []).append(moment)
    messages, label = [], ""
    for number, batch in enumerate(batches.values()):
        payload: list[dict[str, Any]] = []
        for moment in batch:
            if moment.label != label:
                label = moment.label
                values: dict[str, Any] = {"text": label, "millisecond_press_duration": 120}
                payload.append({"name": "annotation", "time": moment.ns, "values": values})
            still = {"z": 0.01, "y": -0.02, "x": 0.03}
            payload.append({"name": "gyroscope", "time": moment.ns - 400_000, "values": still})
            values = {"z": moment.z, "y": moment.y, "x": moment.x}
            payload.append({"name": "accelerometer", "time": moment.ns, "values": values})
        place = {"latitude": 1.5, "longitude": 2.5, "speed": -1, "horizontalAccuracy": 15.1}
        payload.append({"name": "location", "time": batch[-1].ns, "values": place})
        document = {
            "messageId": number,
            "sessionId": "6f0b5a52-3c3b-4e0e-a1f0-3b8b3b1f2f7d",
            "deviceId": "b1f4c7d2-1a2b-4c3d-8e9f-0a1b2c3d4e5f",
            "payload": payload,
        }
        messages.append(Message(json.dumps(document).encode(), tuple(batch)))
    return messages


def over_a_bad_network(
    messages: list[Message], loss: float, twice: float, late: float, seed: int = 1
) -> tuple[list[Message], list[Message]]:
    """Return what arrives, in the order in which it does, and what is lost.

    Messages with an annotation always arrive, because nothing could replace a lost label.
    """
    rng = random.Random(seed)
    arriving: list[tuple[float, Message]] = []
    lost = []
    for n, message in enumerate(messages):
        if rng.random() < loss and b'"annotation"' not in message.body:
            lost.append(message)
            continue
        delay = rng.uniform(1, 3.9) if rng.random() < late else 0.0
        arriving.append((n + delay, message))
        if rng.random() < twice:
            arriving.append((n + rng.uniform(0, 30), message))
    return [message for _, message in sorted(arriving, key=lambda pair: pair[0])], lost


# Termux


def termux(moment: Moment) -> str:
    values = ",\n".join(f"      {part}" for part in (moment.x, moment.y, moment.z))
    return f'{{\n  "LSM6DSO Accelerometer": {{\n    "values": [\n{values}\n    ]\n  }}\n}}\n'


def termux_session(moments: list[Moment]) -> Iterator[str]:
    """Return everything that termux-sensor prints until it is interrupted."""
    yield "{}\n"
    for moment in moments:
        yield termux(moment)
    yield "^CPerforming sensor cleanup\n"


# phyphox


class PhyphoxApp:
    """Act as phyphox's web server on a phone; `now` is how many readings it has by now."""

    def __init__(self, moments: list[Moment], session: str = "a1b2c3") -> None:
        self.moments, self.session, self.now, self.n_answers = moments, session, 0, 0
        self.broken, self.measuring = False, True
        self.columns = {
            "acc_time": [m.ms / 1000 for m in moments],
            "accX": [m.x for m in moments],
            "accY": [m.y for m in moments],
            "accZ": [m.z for m in moments],
        }
        app = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                url = urlsplit(self.path)
                if app.broken:
                    self.close_connection = True
                    return
                body = (
                    app.config()
                    if url.path == "/config"
                    else app.get(dict(parse_qsl(url.query, True)))
                )
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *args: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port: int = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()

    def config(self) -> bytes:
        names = ("accX", "accY", "accZ", "acc", "acc_time")
        outputs = [{"x": "accX"}, {"y": "accY"}, {"z": "accZ"}, {"t": "acc_time"}]
        document = {
            "crc32": "fd3b5d2c",
            "title": "Acceleration with g",
            "localTitle": "Acceleration with g",
            "category": "Raw Sensors",
            "localCategory": "Raw Sensors",
            "buffers": [{"name": name, "size": 0} for name in names],
            "inputs": [{"source": "accelerometer", "outputs": outputs}],
            "export": [],
        }
        return json.dumps(document).encode()

    def get(self, asked: dict[str, str]) -> bytes:
        self.n_answers += 1
        parts = []
        for name, value in asked.items():
            since, _, reference = value.partition("|")
            mode, first = "full", 0
            if not since:
                mode, first = "single", max(0, self.now - 1)
            elif since != "full":
                mode, threshold = "partial", float(since)
                # As RemoteServer.java does, since it sends eight digits only.
                if threshold:
                    threshold += 10.0 ** math.floor(math.log10(abs(threshold) / 1e7))
                first = bisect(self.columns[reference or name], threshold, hi=self.now)
            numbers = ",".join(map(_eight_digits, self.columns[name][first : self.now]))
            parts.append(f'"{name}":{{"size":0,"updateMode":"{mode}", "buffer":[{numbers}]}}')
        status = f'"session":"{self.session}", "measuring":{json.dumps(self.measuring)}, '
        status += '"timedRun":false, "countDown":0\n'
        buffers = ",\n".join(parts)
        return f'{{"buffer":{{\n{buffers}\n}},\n"status":{{\n{status}}}\n}}\n'.encode()

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()


def _eight_digits(value: float) -> str:
    """Round as Java's DecimalFormat("0.#######E0") does."""
    digits, _, power = f"{value:.7e}".partition("e")
    return f"{digits.rstrip('0').rstrip('.')}E{int(power)}"

"""Test `crowdml device run --source http://…`, as a person runs it beside a sensor app."""

import http.client
import io
import json
import os
import pty
import re
import select
import signal
import ssl
import subprocess
import sys
from base64 import b64encode
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import segno

from crowdml.certificate import certificate_fingerprint
from crowdml.cli.device import run_app
from crowdml.demo import free_port
from crowdml.device import DeviceStore
from crowdml.device.sources import Intake, ListenAddress, Listener
from crowdml.device.sources.formats import settings_link
from crowdml.protocol import Task
from experiments.sources.apps import LABELS, record, sensor_logger
from tests.device.fakes import MemoryTransport, join
from tests.support.servers import PATIENCE, make_task

MESSAGES = [message.body for message in sensor_logger(record(20, stretch=10))]
UNTRUSTING = ssl.create_default_context()


def task_of(kind: str = "motion", **changes: float) -> Task:
    """Make a task that never has enough samples to check in."""
    sensor: dict[str, Any] = {"kind": kind, "transform": "summary", "scale": 100}
    sensor |= {"rate": 20, "window": 16, "every": 0.5} | changes
    settings: dict[str, Any] = {f"features__sensor.{key}": sensor[key] for key in sensor}
    settings |= {"collection__batch": 5000, "collection__buffer": 5000}
    return make_task(target__labels=list(LABELS), **settings)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    join(tmp_path / "device", MemoryTransport(task_of())).close()
    return tmp_path / "device"


def buffered() -> dict[str, str]:
    """Return the environment of a service, where Python buffers what is written to a pipe."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}


@contextmanager
def running(
    file: Path, source: str, *options: str, stdout: int = subprocess.PIPE
) -> "Iterator[subprocess.Popen[str]]":
    """Run the command until the end of the block, then let SIGTERM end it in good order."""
    command = [sys.executable, "-m", "crowdml", "device", "run", "--file", str(file)]
    command += ["--source", source, "--format", *(options or ("sensor-logger",))]
    process = subprocess.Popen(
        command, stdout=stdout, stderr=subprocess.PIPE, text=True, env=buffered()
    )
    try:
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, err


def line_of(process: "subprocess.Popen[str]", start: str) -> str:
    """Return what a line of standard output says after its start; other lines are skipped."""
    assert process.stdout
    for line in process.stdout:
        if line.startswith(start):
            return line.removeprefix(start).strip()
    raise AssertionError(f"no line begins with {start!r}")


def read(terminal: int) -> bytes:
    """Wait until a program has written to its terminal, and return what it wrote."""
    assert select.select([terminal], [], [], PATIENCE)[0], "nothing was written"
    return os.read(terminal, 4096)


def post(
    app: http.client.HTTPConnection, path: str, body: bytes, **headers: str
) -> tuple[int, str]:
    app.request("POST", path, body, {"Content-Type": "application/json", **headers})
    answer = app.getresponse()
    return answer.status, answer.read().decode()


def kept(file: Path) -> list[tuple[list[float], str]]:
    with closing(DeviceStore(file)) as store:
        rows = store._db.rows("SELECT x, y FROM buffer ORDER BY id")
    return [(np.frombuffer(x).tolist(), LABELS[int(y)]) for x, y in rows]


def test_over_tls_with_a_certificate_of_its_own(file: Path) -> None:
    """Check that the certificate is beside the device's file, is printed, and stays the same."""
    fingerprints = set()
    for part in (MESSAGES[:10], MESSAGES[10:]):
        port = free_port()
        with running(file, f"https://127.0.0.1:{port}") as process:
            said = line_of(process, "certificate: SHA-256 ")
            url = line_of(process, "listening; address for the app: ")
            assert url == f"https://127.0.0.1:{port}/"
            certificate = file.parent / "crowdml-cert.pem"
            assert said == certificate_fingerprint(certificate)
            trusting = ssl.create_default_context(cafile=certificate)
            app = http.client.HTTPSConnection("127.0.0.1", port, context=trusting)
            with closing(app):
                assert {post(app, "/", body) for body in part} == {(200, "[]")}
            app = http.client.HTTPSConnection("127.0.0.1", port, context=UNTRUSTING)
            with closing(app), pytest.raises(ssl.SSLCertVerificationError):
                post(app, "/", MESSAGES[0])
            plain = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
            with closing(plain), pytest.raises((OSError, http.client.HTTPException)):
                post(plain, "/", MESSAGES[0])
        fingerprints.add(said)
    assert len(fingerprints) == 1
    assert len(kept(file)) > 20


def test_the_terminal_shows_the_address_as_a_qr_code(file: Path) -> None:
    """Check that the code is for the printed address, which has the secret path."""
    ours, theirs = pty.openpty()
    port = free_port()
    with running(file, f"http://0.0.0.0:{port}", stdout=theirs):
        os.close(theirs)
        shown = b""
        address = re.compile(rf"address for the app: (\S+:{port}/(\w{{20}}))\r\n".encode())
        while not (found := address.search(shown)):
            shown += read(ours)
        url, path = (part.decode() for part in found.groups())
        drawn = io.StringIO()
        segno.make(url, error="l").terminal(drawn, compact=True)
        while drawn.getvalue().strip() not in shown.decode(errors="replace").replace("\r\n", "\n"):
            shown += read(ours)
        with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)) as app:
            assert post(app, "/", MESSAGES[0])[0] == 404
        with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)) as app:
            assert post(app, f"/{path}", MESSAGES[0]) == (200, "[]")
            app.request("GET", f"/{path}")
            page = app.getresponse().read().decode()
            link = settings_link("motion", 20.0, url)
            assert f'href="{link}"' in page
            assert segno.make(link, error="m").svg_inline(scale=5, border=3, light="#fff") in page
    with suppress(OSError):
        os.close(ours)


def test_the_address_is_printed_at_once_into_a_pipe(file: Path) -> None:
    """Check what a service's journal shows while the device listens."""
    with running(file, f"http://127.0.0.1:{free_port()}") as process:
        assert process.stdout
        assert select.select([process.stdout], [], [], 60.0)[0], "nothing was written"


def test_no_qr_code_where_output_is_not_a_terminal(file: Path) -> None:
    with running(file, f"http://127.0.0.1:{free_port()}") as process:
        assert process.stdout
        assert line_of(process, "listening")
        process.send_signal(signal.SIGTERM)
        assert "█" not in process.stdout.read()


def test_the_page_has_the_address_of_this_moment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Start before the network does, as a service may: the page is right afterwards."""
    host = "raspberrypi"
    monkeypatch.setattr(run_app, "_host_for_others", lambda _: host)
    file, address = tmp_path / "device", ListenAddress("http", "0.0.0.0", free_port())
    with (
        closing(join(file, MemoryTransport(task_of()))) as device,
        closing(DeviceStore(file)) as store,
    ):
        intake = Intake(store, "sensor-logger")
        listener = run_app._open(device, file, address, intake, lambda error: None)
        assert isinstance(listener, Listener)
        assert "http://raspberrypi:" in listener.page("")
        host = "192.168.1.7"
        assert "http://192.168.1.7:" in listener.page("")
        listener.close()


def owntracks(second: int, **changes: object) -> bytes:
    """Make a location as OwnTracks posts it."""
    message = {"_type": "location", "tid": "ph", "tst": 1698501144 + second, "lat": 48.858222}
    message |= {"lon": 2.2945, "acc": 12, "alt": 35, "vel": 36, "batt": 80, "conn": "w"}
    return json.dumps(message | changes).encode()


def test_owntracks_posts_speeds(tmp_path: Path) -> None:
    file, port = tmp_path / "device", free_port()
    join(file, MemoryTransport(task_of("speed", rate=0.1, window=2, every=0))).close()
    source = f"http://ann:p%3Aw@127.0.0.1:{port}"
    with running(file, source, "owntracks", "--label", "Walking") as process:
        assert line_of(process, "listening")
        password = {"Authorization": f"Basic {b64encode(b'ann:p:w').decode()}"}
        password |= {"X-Limit-U": "ann", "X-Limit-D": "phone"}
        with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)) as app:
            assert post(app, "/", owntracks(0))[0] == 401
        with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)) as app:
            for body in (
                b'{"_type": "lwt", "tst": 1698501144}',
                *(owntracks(10 * n) for n in range(6)),
                owntracks(60, vel=-1),  # a speed that is not known
                b'{"_type": "transition", "event": "enter", "tst": 1698501204}',
                owntracks(70),
            ):
                assert post(app, "/", body, **password) == (200, "[]")
            app.request("GET", "/", headers=password)
            assert "sensorlogger://" not in app.getresponse().read().decode()
            assert post(app, "/", owntracks(0, tst="soon"), **password)[0] == 400
    samples = kept(file)
    assert len(samples) >= 4
    for x, label in samples:
        assert x == pytest.approx([0.1, 0.0, 0.1, 0.1])
        assert label == "Walking"
    everything = b"".join(each.read_bytes() for each in tmp_path.iterdir() if each.is_file())
    assert b"48.858222" not in everything, "no place is kept"

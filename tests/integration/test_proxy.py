"""Run a server behind nginx with TLS, set up as documented, with and without a path."""

import socket
import ssl
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import numpy as np
import pytest

from crowdml.device import Device
from tests.one_file_device.program import OneFileProgram, line
from tests.support.nginx import Nginx, addresses
from tests.support.servers import LABELS, PATIENCE, Portal, create, make_direction_task, make_task


@contextmanager
def behind(folder: Path, path: str, *options: str) -> Iterator[tuple[Portal, Nginx]]:
    server = Portal(folder / "server")
    server.folder.mkdir()
    create(server.database, make_task(), make_direction_task("people"))
    nginx = Nginx(folder / "nginx", server.port, path)
    server.options = tuple(option.format(url=nginx.url) for option in options)
    with server, nginx.running():
        yield server, nginx


def read(nginx: Nginx, path: str, **headers: str) -> str:
    context = ssl.create_default_context(cafile=str(nginx.folder / "crowdml-cert.pem"))
    asked = urllib.request.Request(f"https://localhost:{nginx.port}{path}", headers=headers)
    with urllib.request.urlopen(asked, context=context, timeout=PATIENCE) as answer:
        text: str = answer.read().decode(errors="replace")
    return text


PUBLIC = ("--public-url", "{url}", "--trust-proxy", "127.0.0.1")


@pytest.mark.parametrize("path", ["/", "/crowd/"])
def test_devices_and_people_behind_a_proxy(tmp_path: Path, path: str) -> None:
    with behind(tmp_path, path, *PUBLIC) as (server, nginx):
        page = read(nginx, f"{path}tasks/activity/join")
        assert f"crowdml device join {nginx.url}/join/activity\n" in page
        assert "--fingerprint" not in page
        assert f"known as {nginx.url}" in server.output

        device = Device.join(
            nginx.url, "activity", file=tmp_path / "device", fingerprint=nginx.fingerprint
        )
        with device:
            rng = np.random.default_rng(1)
            for _ in range(3):
                device.add(rng.uniform(-0.2, 0.2, 4), LABELS[rng.integers(3)])
            assert list(device._store.answers.values()) == ["applied"]
        program = OneFileProgram(tmp_path)
        joined = program.join(f"{nginx.url}/join/people", "--fingerprint", nginx.fingerprint)
        assert joined.returncode == 0, joined.stderr
        program.source.write_text(line([0.1] * 4, "walk") * 3)
        ran = program.run("run", "--source", str(program.source))
        assert ran.returncode == 0, ran.stderr
        with server.connected() as wire:
            stats = wire.get("/v1/tasks/people/stats").json()
        assert stats["version"] == 1


def test_no_page_leads_away(tmp_path: Path) -> None:
    """Check that everything that a page loads or links to exists under the same path."""
    path = "/crowd/"
    with behind(tmp_path, path, *PUBLIC) as (_, nginx):
        to_see, seen = {path}, set()
        while to_see:
            address = to_see.pop()
            seen.add(address)
            assert address.startswith(path), address
            if not address.endswith(("/sign-out", "/events", "/hiding.svg")):
                to_see |= addresses(read(nginx, address, Accept="text/html")) - seen
        for wanted in ("privacy", "tasks/activity", "tasks/people/join", "owner"):
            assert f"{path}{wanted}" in seen


def test_only_a_trusted_proxy_is_believed(tmp_path: Path) -> None:
    forged = {"X-Forwarded-Proto": "https", "X-Forwarded-Host": "evil.example"}
    for networks, scheme in (("127.0.0.0/8", "https"), ("10.0.0.0/8,::1", "http")):
        folder = tmp_path / scheme
        folder.mkdir()
        with behind(folder, "/", "--trust-proxy", networks) as (server, nginx):
            page = read(nginx, "/tasks/activity/join", **forged, Forwarded="host=evil.example")
            assert f"crowdml device join {scheme}://localhost:{nginx.port}/join/activity" in page
            assert "evil.example" not in page
            with server.connected() as wire:
                direct = wire.get("/tasks/activity/join", **forged).body.decode()
            assert ("evil.example" in direct) == (scheme == "https")


def test_an_owner_signs_in_through_a_proxy(tmp_path: Path) -> None:
    with behind(tmp_path, "/crowd/", *PUBLIC) as (server, nginx):
        with server.store() as store:
            store.owners.add("ada", "correct horse")
        body = b"name=ada&password=correct+horse&next=/owner/new"
        context = ssl.create_default_context(cafile=str(nginx.folder / "crowdml-cert.pem"))
        asked = urllib.request.Request(
            f"{nginx.url}/owner/sign-in", body, {"Origin": f"https://localhost:{nginx.port}"}
        )
        opener = urllib.request.build_opener(
            urllib.request.HTTPSHandler(context=context), urllib.request.HTTPCookieProcessor()
        )
        with opener.open(asked, timeout=PATIENCE) as answer:
            assert answer.url.partition("?draft=")[0] == f"{nginx.url}/owner/new"
            assert answer.status == 200
        asked.add_header("Origin", "https://evil.example")
        with pytest.raises(urllib.error.HTTPError, match="403"):
            opener.open(asked, timeout=PATIENCE)


def test_one_address_does_not_take_all_connections(tmp_path: Path) -> None:
    """Check that a hundred requests at once are served, and that silent connections are closed."""
    with behind(tmp_path, "/", *PUBLIC) as (_, nginx), ExitStack() as stack:
        context = ssl.create_default_context(cafile=str(nginx.folder / "crowdml-cert.pem"))
        silent = stack.enter_context(socket.create_connection(("127.0.0.1", nginx.port)))
        seen = []
        for _ in range(101):
            plain = socket.create_connection(("localhost", nginx.port))
            wire = stack.enter_context(context.wrap_socket(plain, server_hostname="localhost"))
            wire.settimeout(30)
            wire.sendall(b"GET /v1/tasks/activity/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
            seen.append(wire.recv(12))
        assert seen == [b"HTTP/1.1 200"] * 100 + [b"HTTP/1.1 429"]
        silent.settimeout(30)
        assert silent.recv(100) == b"", "after the ten seconds of client_header_timeout"


def test_joining_is_limited_for_each_address(tmp_path: Path) -> None:
    with behind(tmp_path, "/", *PUBLIC) as (_, nginx):
        codes = []
        for _ in range(70):
            try:
                read(nginx, "/v1/tasks/activity/devices", Accept="application/json")
            except urllib.error.HTTPError as error:
                codes.append(error.code)
        assert codes[:60] == [405] * 60, "the server itself answers"
        assert codes[-1] == 429

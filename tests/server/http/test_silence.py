"""Those who connect and say nothing, or not all of it, keep nobody else out for long."""

import resource
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.servers import Process, Start, create, enrol, make_task

SECONDS = 2.0
SLACK = 8.0
"""For a busy machine, beyond the time that the server states."""


@contextmanager
def silent(server: Process, n: int) -> Iterator[list[socket.socket]]:
    """So many connections on which nothing is said."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, max(soft, n + 500)), hard))
    with ExitStack() as stack:
        opened = []
        for _ in range(n):
            made = stack.enter_context(socket.socket())
            made.setblocking(False)
            made.connect_ex(("127.0.0.1", server.port))
            opened.append(made)
        yield opened


def answers_within(server: Process, seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            with server.connected() as wire:
                return wire.get("/healthz").status == 200
        except OSError:
            time.sleep(0.05)
    return False


@pytest.mark.parametrize("tls", [None, "self-signed"])
def test_thousands_who_say_nothing(start: Start, tls: str | None) -> None:
    """More than the server holds at once: those inside are shown out in the stated time."""
    server = start(make_task(), tls=tls, head_seconds=SECONDS, most_connections=1000)
    with silent(server, 2500):
        assert answers_within(server, 4 * SECONDS + SLACK)


def test_few_files_are_enough(tmp_path: Path) -> None:
    """Where the system allows a process 300 open files, it does not run out of them."""
    server = Process(tmp_path / "server", settings={"head_seconds": SECONDS})
    server.folder.mkdir()
    create(server.database, make_task())
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (300, before[1]))
    try:
        server.start()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    assert server.process is not None
    soft, hard = resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE)
    assert soft == 4096 + 128 or soft == hard, "it takes what it may have"
    with silent(server, 800):
        assert answers_within(server, 4 * SECONDS + SLACK)
    assert server.stop() == 0


def test_a_head_that_never_ends(start: Start) -> None:
    server = start(make_task(), head_seconds=SECONDS)
    with socket.create_connection(("127.0.0.1", server.port)) as slow:
        slow.settimeout(SECONDS + SLACK)
        slow.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\nX-")
        assert slow.recv(1000) == b""


@pytest.mark.parametrize("sent", [b"", b'{"terms"'])
def test_a_body_that_never_comes(start: Start, sent: bytes) -> None:
    """It is told so, with words that let a device send the same bytes again."""
    server = start(make_task(), body_seconds=SECONDS)
    head = "POST /v1/tasks/activity/devices HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n"
    with socket.create_connection(("127.0.0.1", server.port)) as slow:
        slow.settimeout(2 * SECONDS + SLACK)
        slow.sendall(head.encode() + sent)
        answer = slow.recv(10_000)
    assert answer.startswith(b"HTTP/1.1 503"), answer
    assert b"the body must arrive within 2 s" in answer
    with server.connected() as wire:
        assert enrol(wire)


def test_a_body_in_crumbs(start: Start) -> None:
    """A byte at a time costs a turn each, so there may not be many of them."""
    server = start(make_task())
    head = (
        b"POST /v1/tasks/activity/devices HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", server.port)) as crumbling:
        crumbling.settimeout(30)
        crumbling.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        crumbling.sendall(head)
        try:
            for _ in range(3000):
                crumbling.sendall(b"1\r\n \r\n")
        except OSError:
            pass
        answer = crumbling.recv(10_000)
    assert answer.startswith(b"HTTP/1.1 413"), answer
    assert b"at most 72 parts" in answer


@pytest.mark.parametrize("path", ["devices", "checkins"])
def test_bodies_that_are_cut_off_leave_nothing_behind(start: Start, path: str) -> None:
    server = start(make_task())
    with server.connected() as wire:
        token = enrol(wire)
    head = (
        f"POST /v1/tasks/activity/{path} HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n"
        f"Authorization: Bearer {token}\r\n\r\n{{"
    )
    for _ in range(300):
        with socket.create_connection(("127.0.0.1", server.port)) as cut:
            cut.sendall(head.encode())
    assert answers_within(server, SLACK)
    assert server.stop() == 0
    assert "Traceback" not in server.output

"""Test that connections that send nothing, or only a part, block nobody else for long."""

import resource
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest

from crowdml.server import Settings
from tests.support.servers import (
    PATIENCE,
    FaultyServer,
    Start,
    checkin,
    create,
    enrol,
    make_task,
    problem_kind,
)

SECONDS = 2.0
SLACK = 8.0
"""Extra time for a busy machine, beyond the time that the server states."""


@contextmanager
def silent(
    server: FaultyServer, n: int, said: bytes = b"", whence: str = "127.0.0.1"
) -> Iterator[list[socket.socket]]:
    """Open `n` connections from an address of loopback, each of which sends only `said`."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, max(soft, n + 500)), hard))
    with ExitStack() as stack:
        opened = []
        for _ in range(n):
            made = stack.enter_context(socket.socket())
            made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            made.bind((whence, 0))
            made.setblocking(False)
            made.connect_ex(("127.0.0.1", server.port))
            opened.append(made)
        for made in opened if said else ():
            made.settimeout(PATIENCE)
            # The server may have closed the connection already.
            with suppress(OSError):
                made.sendall(said)
        yield opened


def answers_within(server: FaultyServer, seconds: float) -> bool:
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
    """Open more connections than the server holds; it closes silent ones in the stated time."""
    server = start(make_task(), tls=tls, head_seconds=SECONDS, most_connections=1000)
    with silent(server, 2500):
        assert answers_within(server, 4 * SECONDS + SLACK)


NEVER = 1e6
BODY = b"POST /v1/tasks/activity/devices HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n"


@pytest.mark.parametrize("said", [b"", BODY])
def test_one_address_does_not_take_all_connections(start: Start, said: bytes) -> None:
    """Check that the surplus of one address is closed.

    Without a limit in time, all its connections would stay.
    """
    server = start(make_task(), head_seconds=1000.0, body_seconds=NEVER, most_connections=200)
    with silent(server, 300, said, whence="127.0.0.2"):
        assert answers_within(server, PATIENCE)


def test_unfinished_bodies_do_not_delay_the_end(start: Start) -> None:
    server = start(make_task(), body_seconds=NEVER, stop_seconds=NEVER)
    with silent(server, 20, BODY) as unfinished:
        with server.connected() as wire:
            assert enrol(wire), "the others have been read by now"
        assert server.stop() == 0
        assert all(one.recv(100).startswith(b"HTTP/1.1 503") for one in unfinished)


def test_an_answer_that_nobody_reads_does_not_delay_the_end(start: Start) -> None:
    task = make_task(features__count=100_000, target__labels=[*"abcdefghij"])
    server = start(task, stop_seconds=1.0)
    with server.connected() as wire:
        token = enrol(wire)
    get = f"GET /v1/tasks/activity/model HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}"
    with silent(server, 1, f"{get}\r\n\r\n".encode()) as (deaf,):
        assert deaf.recv(12) == b"HTTP/1.1 200"
        assert server.stop() == 0


def test_a_device_has_few_check_ins_at_once(start: Start) -> None:
    """Check that a device that announces bodies and never sends them blocks no other device."""
    task = make_task()
    few = Settings().most_checkins_per_device
    server = start(task, body_seconds=NEVER, most_waiting_bytes=1, most_checkins_per_device=few)
    with server.connected() as wire:
        token, other = enrol(wire), enrol(wire)
        path = "/v1/tasks/activity/checkins"
        head = f"POST {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n"
        said = f"{head}Content-Length: 1000\r\n\r\n".encode()
        with silent(server, 6, said):
            assert wire.call("POST", path, checkin(task), other).status == 200
            rejected = wire.call("POST", path, checkin(task), token)
    assert problem_kind(rejected) == "too-frequent"
    assert rejected.json()["detail"] == "at most 2 check-ins of a device may arrive at once."


def test_few_files_are_enough(tmp_path: Path) -> None:
    """Check that a server that may open only 300 files does not run out of them."""
    server = FaultyServer(tmp_path / "server", settings={"head_seconds": SECONDS})
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
    """Check for an error that lets a device send the same bytes again."""
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


def test_a_body_in_tiny_parts(start: Start) -> None:
    """Check that a body may not have many parts, because each byte sent alone costs work."""
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

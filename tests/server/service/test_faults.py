"""Test a disk that fails while check-ins arrive, and clients that hang up halfway."""

import socket
import time
from contextlib import closing

from tests.support.servers import (
    FaultyServer,
    HttpClient,
    Start,
    checkin,
    enrol,
    make_task,
    problem_kind,
    recompute,
)

CHECKINS = "/v1/tasks/activity/checkins"


def seen(wire: HttpClient, token: str) -> tuple[object, bytes, bytes]:
    statistics = wire.get("/v1/tasks/activity/stats").json()
    del statistics["checkins_per_minute"]
    model = wire.get("/v1/tasks/activity/export?format=json").body
    return statistics, model, wire.get("/v1/tasks/activity/model", token).body


def fail_and_see(server: FaultyServer, wire: HttpClient, token: str, body: bytes) -> None:
    before = seen(wire, token)
    server.fail_writes.touch()
    rejected = wire.call("POST", CHECKINS, body, token)
    assert (rejected.status, problem_kind(rejected)) == (503, "unavailable")
    assert "same bytes" in rejected.json()["detail"]
    assert seen(wire, token) == before, "what was not stored must not be seen"
    server.fail_writes.unlink()


def test_a_full_disk_rejects_and_the_retry_counts_once(start: Start) -> None:
    task = make_task()
    server = start(task)
    with server.connected() as wire:
        token = enrol(wire)
        assert wire.call("POST", CHECKINS, checkin(task, 1), token).status == 200
        body = checkin(task, 2)
        fail_and_see(server, wire, token, body)
        answers = [wire.call("POST", CHECKINS, body, token).json() for _ in range(2)]
        assert answers == [
            {"version": 2, "status": "applied"}, {"version": 2, "status": "duplicate"}
        ]  # fmt: skip
        model = wire.get("/v1/tasks/activity/export?format=npz")
        assert model.status == 200
        document = wire.get("/v1/tasks/activity/export?format=json").json()
    fold = recompute(server.database)
    assert fold.version == document["version"] == 2
    assert [value for row in document["weights"] for value in row] == fold.w.tolist()


def test_stopping_after_a_full_disk_doubles_nothing(start: Start) -> None:
    task = make_task()
    server = start(task)
    with server.connected() as wire:
        token = enrol(wire)
        assert wire.call("POST", CHECKINS, checkin(task, 1), token).status == 200
        body = checkin(task, 2)
        server.fail_writes.touch()
        assert wire.call("POST", CHECKINS, body, token).status == 503
    assert server.stop() == 0
    server.fail_writes.unlink()
    with server.start().connected() as wire:
        assert wire.get("/v1/tasks/activity/stats").json()["version"] == 1
        answer = wire.call("POST", CHECKINS, body, token).json()
        assert answer == {"version": 2, "status": "applied"}
        document = wire.get("/v1/tasks/activity/export?format=json").json()
    fold = recompute(server.database)
    assert fold.version == 2
    assert [value for row in document["weights"] for value in row] == fold.w.tolist()


def test_a_full_disk_rejects_joining_and_leaving(start: Start) -> None:
    server = start(make_task())
    with server.connected() as wire:
        token = enrol(wire)
        terms = wire.get("/v1/tasks/activity").json()["terms_sha256"]
        body = f'{{"terms": "{terms}"}}'.encode()
        server.fail_writes.touch()
        joining = wire.call("POST", "/v1/tasks/activity/devices", body)
        leaving = wire.call("DELETE", "/v1/tasks/activity/devices/me", token=token)
        for reply in (joining, leaving):
            assert (reply.status, problem_kind(reply)) == (503, "unavailable")
        server.fail_writes.unlink()
        assert wire.get("/v1/tasks/activity/stats").json()["devices"] == 1
        assert wire.call("POST", "/v1/tasks/activity/devices", body).status == 201
        assert wire.call("DELETE", "/v1/tasks/activity/devices/me", token=token).status == 204


def head(token: str, body: bytes) -> bytes:
    """Return the head of a request with this body."""
    return (
        f"POST {CHECKINS} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    ).encode()


def send_and_hang_up(server: FaultyServer, data: bytes) -> None:
    with closing(socket.create_connection(("127.0.0.1", server.port))) as plain:
        plain.sendall(data)


def test_a_client_that_hangs_up_halfway_changes_nothing(start: Start) -> None:
    task = make_task()
    server = start(task)
    body = checkin(task)
    with server.connected() as wire:
        token = enrol(wire)
        whole = head(token, body)
        for part in (whole[:40], whole, whole + body[:100]):
            send_and_hang_up(server, part)
        time.sleep(0.2)
        assert wire.get("/v1/tasks/activity/stats").json()["version"] == 0
        assert wire.call("POST", CHECKINS, body, token).json()["version"] == 1
    assert server.stop() == 0
    assert "127.0.0.1" not in server.output.replace(server.url, "")


def test_a_client_that_does_not_wait_for_the_answer_is_counted_once(start: Start) -> None:
    """Check that a request that arrived whole may count, but counts once if sent again."""
    task = make_task()
    server = start(task)
    body = checkin(task)
    with server.connected() as wire:
        token = enrol(wire)
        for _ in range(3):
            send_and_hang_up(server, head(token, body) + body)
        assert wire.call("POST", CHECKINS, body, token).json()["version"] == 1
        assert wire.get("/v1/tasks/activity/stats").json()["version"] == 1
        others = [checkin(task, seed) for seed in range(1, 20)]
        versions = [wire.call("POST", CHECKINS, other, token).json()["version"] for other in others]
        assert versions == list(range(2, 21)), "a lost listener must not hold up the others"

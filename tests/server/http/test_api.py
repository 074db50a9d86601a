"""Test a live server over real HTTP: caching, groups, owners' changes, events, exports, secrets."""

import asyncio
import base64
import http.client
import io
import json
import re
import socket
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from typing import Any

import msgspec
import numpy as np
import pytest
from starlette.requests import Request

from crowdml.protocol import Task, rejected
from crowdml.server import Settings
from crowdml.server.http.rejections import reject
from crowdml.server.http.routes import create_app
from crowdml.server.log.fold import Fold
from tests.support.servers import (
    PATIENCE,
    FaultyServer,
    HttpClient,
    Start,
    checkin,
    direction_checkin,
    enrol,
    enrolled,
    eventually,
    make_direction_task,
    make_task,
    problem_kind,
    recompute,
)

STATS = "/v1/tasks/activity/stats"
CHECKINS = "/v1/tasks/activity/checkins"
MODEL = "/v1/tasks/activity/model"
EXPORT = "/v1/tasks/activity/export"


def send_all(server: FaultyServer, bodies: list[bytes], token: str, threads: int = 8) -> list[Any]:
    """Send many check-ins at once, so that they share commits."""
    return send_each(server, [(body, token) for body in bodies], threads)


def send_each(
    server: FaultyServer, messages: list[tuple[bytes, str]], threads: int = 8
) -> list[Any]:
    """Send many check-ins at once, each with its own token."""

    def send(part: list[tuple[bytes, str]]) -> list[Any]:
        with server.connected() as wire:
            return [wire.call("POST", CHECKINS, body, token) for body, token in part]

    with ThreadPoolExecutor(threads) as pool:
        parts = pool.map(send, [messages[i::threads] for i in range(threads)])
        return [reply for part in parts for reply in part]


def of_people(task: Task, wire: HttpClient, people: int, checkins: int) -> list[tuple[bytes, str]]:
    """Make `checkins` check-ins of each of `people` people, with their tokens."""
    joined = [enrolled(wire) for _ in range(people)]
    return [
        (direction_checkin(task, person["device"], number, seed=number), person["token"])
        for number in range(1, checkins + 1)
        for person in joined
    ]


def exported(wire: HttpClient) -> dict[str, Any]:
    document: dict[str, Any] = wire.get(f"{EXPORT}?format=json").json()
    return document


# The model


def same_fold(
    server: FaultyServer,
    document: dict[str, Any],
    statistics: dict[str, Any],
    checkout: dict[str, Any],
) -> Fold:
    """Check that the server exports, shows and sends the fold of the log; return the fold."""
    fold = recompute(server.database)
    assert np.array(document["weights"]).tobytes() == fold.exported.tobytes()
    assert document["version"] == statistics["version"] == fold.version == 60
    parameters = np.frombuffer(base64.b64decode(checkout["parameters"]), dtype="<f4")
    assert parameters.tobytes() == fold.w.astype("<f4").tobytes()
    assert statistics["error"] == msgspec.to_builtins(fold.error())
    return fold


def test_the_live_model_is_the_fold_of_the_log(start: Start) -> None:
    task = make_task(optimizer__kind="adagrad", collection__heldout=0.34)
    server = start(task, snapshot_every=7)
    with server.connected() as wire:
        token = enrol(wire)
        bodies = [checkin(task, seed, samples=3 + seed % 4) for seed in range(60)]
        assert {reply.status for reply in send_all(server, bodies, token)} == {200}
        document, statistics = exported(wire), wire.get(STATS).json()
        checkout = wire.get(MODEL, token).json()
    fold = same_fold(server, document, statistics, checkout)
    assert statistics["samples"] == fold.learning.totals.samples
    assert statistics["staleness_max"] == fold.learning.staleness_max == 59
    assert server.stop() == 0
    with server.start().connected() as wire:
        assert exported(wire) == document


def test_the_live_model_of_people_is_the_fold_of_the_log(start: Start) -> None:
    task = make_direction_task(optimizer__c=None, collection__evaluators=0.3)
    server = start(task, snapshot_every=7)
    with server.connected() as wire:
        messages = of_people(task, wire, people=6, checkins=10)
        replies = send_each(server, messages, threads=6)  # one thread for each person, in order
        assert {reply.status for reply in replies} == {200}
        document, statistics = exported(wire), wire.get(STATS).json()
        checkout = wire.get(MODEL, messages[0][1]).json()
        evaluating = wire.get(f"{MODEL}?role=evaluate", messages[0][1]).json()
    fold = same_fold(server, document, statistics, checkout)
    assert fold.w.tobytes() != fold.exported.tobytes(), "what is exported is the average"
    tested = np.frombuffer(base64.b64decode(evaluating["parameters"]), dtype="<f4")
    assert tested.tobytes() == fold.exported.astype("<f4").tobytes(), "and what is evaluated"
    assert statistics["samples"] is None
    assert 0 < fold.learning.totals.evaluated < 60
    assert len(fold.learning.reports) == fold.learning.totals.evaluated
    assert statistics["active_devices"] == 6
    assert server.stop() == 0
    with server.start().connected() as wire:
        assert exported(wire) == document
        del statistics["checkins_per_minute"]
        assert wire.get(STATS).json().items() >= statistics.items()


def test_an_unchanged_model_is_not_sent_again(server: FaultyServer, wire: HttpClient) -> None:
    task = make_task()
    token = enrol(wire)
    first = wire.get(MODEL, token)
    etag = first.headers["etag"]
    again = wire.call("GET", MODEL, None, token, {"If-None-Match": etag})
    assert (again.status, again.body, again.headers["etag"]) == (304, b"", etag)
    assert again.headers["crowdml-terms"] == first.headers["crowdml-terms"]
    assert wire.call("POST", CHECKINS, checkin(task), token).status == 200
    changed = wire.call("GET", MODEL, None, token, {"If-None-Match": etag})
    assert changed.status == 200
    assert changed.headers["etag"] != etag
    assert changed.json()["version"] > first.json()["version"]


def test_exports_over_http(wire: HttpClient) -> None:
    token = enrol(wire)
    assert wire.call("POST", CHECKINS, checkin(make_task()), token).status == 200
    with np.load(io.BytesIO(wire.get(f"{EXPORT}?format=npz").body), allow_pickle=False) as archive:
        assert archive["weights"].tobytes() == np.array(exported(wire)["weights"]).tobytes()
    name = wire.get(f"{EXPORT}?format=onnx").headers["content-disposition"]
    assert re.search(r'filename="activity-\d+\.onnx"', name)
    assert wire.get(EXPORT).body[:2] == b"PK"


# Many check-ins at once


def test_concurrent_check_ins_are_applied_exactly_once(start: Start) -> None:
    task = make_task()
    server = start(task, largest_batch=16)
    with server.connected() as wire:
        token = enrol(wire)
    bodies = [checkin(task, seed) for seed in range(120)]
    replies = send_all(server, bodies + bodies, token, threads=12)
    assert {reply.status for reply in replies} == {200}
    applied = [r.json()["version"] for r in replies if r.json()["status"] == "applied"]
    duplicates = [r.json()["version"] for r in replies if r.json()["status"] == "duplicate"]
    assert sorted(applied) == sorted(duplicates) == list(range(1, 121))
    with server.store() as store:
        log = list(store.log(1))
    assert [entry.seq for entry in log] == list(range(1, 121))
    assert {entry.id for entry in log} == {json.loads(body)["id"] for body in bodies}


def test_concurrent_numbers_are_applied_exactly_once(start: Start) -> None:
    """Send each number twice with its own id and once with another id, all at once, to one server.

    Each device sends one number after the other.
    """
    task = make_direction_task()
    server = start(task, largest_batch=16)
    with server.connected() as wire:
        messages = of_people(task, wire, people=8, checkins=10)
    fresh = [
        (json.dumps(json.loads(body) | {"id": f"another-id-{i:08}"}).encode(), token)
        for i, (body, token) in enumerate(messages)
    ]
    replies = []
    for first in range(0, 80, 8):
        own = slice(first, first + 8)
        replies += send_each(server, messages[own] + fresh[own] + messages[own], threads=12)
    kinds = Counter(
        reply.json()["status"] if reply.status == 200 else problem_kind(reply) for reply in replies
    )
    assert kinds["applied"] == 80
    assert kinds["applied"] + kinds["duplicate"] + kinds["repeated-number"] == 240 == len(replies)
    assert 80 <= kinds["repeated-number"] <= 160
    with server.store() as store:
        log = list(store.log(1))
    assert sorted((entry.device, entry.number) for entry in log) == [
        (device, number) for device in range(8) for number in range(1, 11)
    ]
    with server.connected() as wire:
        assert np.array(exported(wire)["weights"]).tobytes() == (
            recompute(server.database).exported.tobytes()
        )


def test_t_max_is_exact_under_concurrency(start: Start) -> None:
    task = make_task(stop__updates=25)
    server = start(task)
    with server.connected() as wire:
        token = enrol(wire)
        bodies = [checkin(task, seed) for seed in range(80)]
        replies = send_all(server, bodies, token, threads=12)
        applied = [r for r in replies if r.status == 200]
        rejected = [r for r in replies if r.status != 200]
        assert sorted(r.json()["version"] for r in applied) == list(range(1, 26))
        assert {problem_kind(r) for r in rejected} == {"task-finished"}
        assert {r.json()["state"] for r in rejected} == {"exhausted"}
        assert wire.get(STATS).json()["state"] == "exhausted"
        first = {json.loads(b)["id"]: b for b in bodies}
        with server.store() as store:
            log = list(store.log(1))
        assert len(log) == 25
        for entry in log:
            answer = wire.call("POST", CHECKINS, first[entry.id], token).json()
            assert answer == {"version": entry.seq, "status": "duplicate"}
    assert server.stop() == 0
    with server.start().connected() as wire:
        assert wire.get(STATS).json()["state"] == "exhausted"


# Changes by an owner in another process


def test_invites(start: Start) -> None:
    server = start(make_task(enrolment__mode="invite"))
    with server.store() as store:
        invite = store.invites.create(1, 3)
    with server.connected() as wire:
        terms = wire.get("/v1/tasks/activity").json()["terms_sha256"]
        body = json.dumps({"terms": terms, "invite": invite}).encode()

        def join(_: int) -> int:
            with server.connected() as own:
                return own.call("POST", "/v1/tasks/activity/devices", body).status

        with ThreadPoolExecutor(8) as pool:
            statuses = sorted(pool.map(join, range(8)))
        assert statuses == [201] * 3 + [403] * 5
        assert wire.get(STATS).json()["devices"] == 3


def test_a_revoked_device_is_noticed_while_the_server_runs(start: Start) -> None:
    task = make_task()
    server = start(task)
    with server.connected() as wire:
        token, other = enrol(wire), enrol(wire)
        assert wire.call("POST", CHECKINS, checkin(task), token).status == 200
        with server.store() as store:
            store.set_device_status(store.devices(1)[0].name, "revoked")
        assert eventually(lambda: wire.get(MODEL, token).status == 403)
        reply = wire.call("POST", CHECKINS, checkin(task), token)
        assert problem_kind(reply) == "revoked"
        assert "excluded" in reply.json()["detail"]
        assert wire.call("POST", CHECKINS, checkin(task), other).status == 200
        assert wire.get(STATS).json()["version"] == 2


def test_pause_resume_and_stop_are_noticed_while_the_server_runs(start: Start) -> None:
    task = make_task()
    server = start(task)
    with server.connected() as wire, server.store() as store:
        token = enrol(wire)
        sent = checkin(task)
        assert wire.call("POST", CHECKINS, sent, token).status == 200

        def state() -> str:
            found: str = wire.get("/v1/tasks/activity").json()["state"]
            return found

        store.set_task_state("activity", "paused")
        assert eventually(lambda: state() == "paused")
        paused = wire.call("POST", CHECKINS, checkin(task), token)
        assert (problem_kind(paused), paused.json()["state"]) == ("task-paused", "paused")
        assert wire.get(MODEL, token).json()["state"] == "paused"
        assert wire.call("POST", CHECKINS, sent, token).json()["status"] == "duplicate"

        store.set_task_state("activity", "running")
        assert eventually(lambda: state() == "running")
        assert wire.call("POST", CHECKINS, checkin(task), token).json()["version"] == 2

        store.set_task_state("activity", "stopped")
        assert eventually(lambda: state() == "stopped")
        stopped = wire.call("POST", CHECKINS, checkin(task), token)
        assert (problem_kind(stopped), stopped.json()["state"]) == ("task-finished", "stopped")
        assert wire.get(MODEL, token).json()["state"] == "stopped"
        assert wire.call("POST", CHECKINS, sent, token).json() == {
            "version": 1, "status": "duplicate",
        }  # fmt: skip
        assert wire.get(STATS).json()["version"] == 2


def test_a_task_created_while_the_server_runs_is_served(start: Start) -> None:
    server = start(make_task())
    with server.connected() as wire, server.store() as store:
        assert wire.get("/v1/tasks/later").status == 404
        store.create_task(make_task("later"))
        assert eventually(lambda: wire.get("/v1/tasks/later").status == 200)
        names = [view["name"] for view in wire.get("/v1/tasks").json()["tasks"]]
        assert names == ["activity", "later"]


# Events


def test_events_follow_the_task_to_its_end(start: Start) -> None:
    task = make_task(stop__updates=3)
    server = start(task)
    with server.connected() as wire:
        token = enrol(wire)
        events: list[dict[str, Any]] = []
        first = threading.Event()

        def listen() -> None:
            connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE)
            with closing(connection):
                connection.request("GET", "/v1/tasks/activity/events")
                response = connection.getresponse()
                assert response.headers["Content-Type"].startswith("text/event-stream")
                while line := response.readline():
                    if line.startswith(b"data: "):
                        events.append(json.loads(line.removeprefix(b"data: ")))
                        first.set()

        listener = threading.Thread(target=listen)
        listener.start()
        assert first.wait(PATIENCE)
        for seed in range(3):
            assert wire.call("POST", CHECKINS, checkin(task, seed), token).status == 200
            time.sleep(0.1)
        listener.join(PATIENCE)
        assert not listener.is_alive(), "the stream must end when the task does"
        final = wire.get(STATS).json()
    versions = [event["version"] for event in events]
    assert len(events) >= 2
    assert versions == sorted(versions)
    assert (versions[0], versions[-1]) == (0, 3)
    del final["checkins_per_minute"], events[-1]["checkins_per_minute"]
    assert events[-1] == final


def test_no_more_listen_at_once_than_may(start: Start) -> None:
    """Check that forty listeners who come together get the five places.

    When they leave, others may come.
    """
    server = start(make_task(), most_listeners=5, heartbeat_seconds=0.1)

    def listen() -> list[bytes]:
        """Return the first bytes of each answer, with all forty connections open."""
        with ExitStack() as stack:
            opened = []
            for _ in range(40):
                made = socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE)
                opened.append(stack.enter_context(made))
            for each in opened:
                each.sendall(b"GET /v1/tasks/activity/events HTTP/1.1\r\nHost: x\r\n\r\n")
            first = [each.recv(12) for each in opened]
            with server.connected() as wire:
                rejected = wire.get("/v1/tasks/activity/events")
                assert (rejected.status, wire.get(STATS).status) == (503, 200)
            assert "Ask for the statistics" in rejected.json()["detail"]
            return first

    for _ in range(2):
        first = listen()
        assert first.count(b"HTTP/1.1 200") == 5
        assert first.count(b"HTTP/1.1 503") == 35
        assert eventually(lambda: listening(server) == 0)


def listening(server: FaultyServer) -> int:
    with server.connected() as wire:
        page = wire.get("/metrics").body.decode()
    (found,) = re.findall(r"^crowdml_listeners\S* (\d+)", page, re.MULTILINE)
    return int(found)


def test_listeners_do_not_keep_the_server_from_stopping(start: Start) -> None:
    server = start(make_task())
    with ExitStack() as stack:
        for _ in range(3):
            connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE)
            stack.enter_context(closing(connection))
            connection.request("GET", "/v1/tasks/activity/events")
            response = stack.enter_context(closing(connection.getresponse()))
            assert response.readline() == b"event: statistics\n"
        began = time.monotonic()
        assert server.stop() == 0
        assert time.monotonic() - began < 10


# Operations


@pytest.mark.parametrize(("wait", "header"), [(0.2, "1"), (1.0, "1"), (1.4, "2"), (59.2, "60")])
def test_waiting_as_long_as_the_header_says_is_enough(wait: float, header: str) -> None:
    """Check that waiting times are rounded up, because the header has whole seconds only."""
    request = Request({"type": "http", "app": create_app(Settings(database="sqlite://"))})
    rejection = rejected("too-frequent", "slowly", retry_after=wait)
    response = asyncio.run(reject(request, rejection))
    assert response.headers["retry-after"] == header


# Secrets


def test_no_token_no_address_and_no_sample_is_kept_or_shown(start: Start) -> None:
    task = make_task(enrolment__mode="invite")
    server = start(task)
    with server.store() as store:
        invite = store.invites.create(1, 2)
    with server.connected() as wire:
        tokens = [enrol(wire, invite=invite) for _ in range(2)]
        for seed, token in enumerate(tokens):
            assert wire.call("POST", CHECKINS, checkin(task, seed), token).status == 200
            wire.call("POST", CHECKINS, b"{", token)
            wire.call("POST", CHECKINS, b"[[", token)
        wire.get(MODEL, "wrong-token-of-someone")
        public = b"".join(
            wire.get(path).body
            for path in (STATS, "/v1/tasks", "/v1/tasks/activity", "/metrics",
                         "/v1/tasks/activity/export?format=json")
        )  # fmt: skip
    assert server.stop() == 0
    files = [file for file in server.folder.iterdir() if file.name.startswith(server.file.name)]
    raw = b"".join(file.read_bytes() for file in files)
    shown = server.output.replace(server.url, "").encode()
    assert len(raw) > 1000
    for secret in (*tokens, invite):
        for where in (raw, public, shown):
            assert secret.encode() not in where
    for where in (raw, shown):
        assert b"127.0.0.1" not in where
    assert b"wrong-token-of-someone" not in raw + shown


@pytest.mark.parametrize("path", ["/v1/tasks", "/v1/tasks/activity", STATS, "/metrics"])
def test_public_pages_name_no_device(wire: HttpClient, path: str) -> None:
    token = enrol(wire)
    page = wire.get(path).body
    assert token.encode() not in page
    assert not re.search(rb"\b[0-9a-f]{32}\b", page), "that would be a device's name"


def test_the_log_keeps_time_to_the_minute_only(start: Start) -> None:
    task: Task = make_task()
    server = start(task)
    with server.connected() as wire:
        token = enrol(wire)
        assert wire.call("POST", CHECKINS, checkin(task), token).status == 200
    with server.store() as store:
        assert [entry.at % 60 for entry in store.log(1)] == [0]

"""Test anything a client may send: each has a clear error, and leaves the server unchanged."""

import gzip
import http.client
import json
import socket
from contextlib import closing
from typing import Any

import pytest

from crowdml.protocol import Enrol, Task
from tests.server.rejected_requests import MISSING, OUT_OF_RANGE, WRONG_TYPES, Bench, joined
from tests.support.checkins import NoiseCheckin
from tests.support.servers import PATIENCE, Reply, checkin, enrol, make_task, problem_kind

PATH = "/v1/tasks/activity/checkins"


def changed(task: Task, field: str, value: Any) -> bytes:
    document = json.loads(checkin(task))
    if value is MISSING:
        del document[field]
    else:
        document[field] = value
    return json.dumps(document).encode()


# Every field of a check-in

NOISY_TYPES: dict[str, list[Any]] = WRONG_TYPES | {
    "samples": [MISSING, None, "3", 3.5, True, [3]],
    "heldout": [MISSING, None, "0", 0.5, False, {}],
    "errors": [MISSING, None, "1", 1.5, True, [1]],
    "labels": [MISSING, None, 3, "1,2,3", {"0": 1}, [1, 2, "3"], [1, 2, 3.5], [1, 2, None]],
    "grid": [MISSING, None, "-20", -20.5, False],
    "gradient": [MISSING, None, 5, [0] * 12, {}, "?", "AAA", "A===", "AA AA", "AAAA\n", "é"],
}
NOISY_RANGES: dict[str, list[Any]] = OUT_OF_RANGE | {
    "samples": [0, -3, 1_000_001, 2**63, 10**30],
    "heldout": [-1, 1_000_001],
    "errors": [2**31, -(2**31), 10**30],
    "labels": [[2**31, 0, 0], [0, -(2**31), 0]],
    "grid": [-1001, 1001],
}


def test_every_field_has_bad_values() -> None:
    assert set(NOISY_TYPES) == set(NoiseCheckin.__struct_fields__)
    assert {"terms", "invite"} == set(Enrol.__struct_fields__)


NOISY = joined(NOISY_TYPES, NOISY_RANGES)


@pytest.mark.parametrize("field", NOISY)
def test_a_field_that_breaks_the_protocol(bench: Bench, field: str) -> None:
    with bench.unchanged():
        for value in NOISY[field]:
            reply = bench.check_in(changed(bench.task, field, value))
            bench.rejected(reply, "invalid-request", field)


def test_an_unknown_field_is_rejected(bench: Bench) -> None:
    body = changed(bench.task, "x", [0.1, 0.2])
    bench.expect(lambda: bench.check_in(body), "invalid-request", "x is not known here. Remove it.")


def test_all_wrong_fields_are_named_at_once(bench: Bench) -> None:
    document = json.loads(checkin(bench.task)) | {"samples": 0, "grid": "x", "labels": [1, None]}
    del document["errors"]
    bench.expect(
        lambda: bench.check_in(json.dumps(document).encode()),
        "invalid-request",
        "samples must be a whole number from 1 to 1,000,000, found 0. ",
        "errors is missing. Add it. ",
        ", each a whole number from -2,147,483,647 to 2,147,483,647, found null in it. ",
        'grid must be a whole number from -1,000 to 1,000, found "x".',
    )


# Values that no honest device of this task sends

IMPLAUSIBLE: list[tuple[str, Any, str, tuple[str, ...]]] = [
    ("version", 4, "future-version", ("at most 3", "found 4")),
    ("version", 10**30, "future-version", ("at most 3",)),
    ("terms", "0" * 64, "terms-changed", ("0" * 64,)),
    ("samples", 2, "too-few-samples", ("at least 3", "found 2")),
    ("samples", 31, "too-many-samples", ("at most 30", "found 31")),
    ("heldout", 1, "wrong-heldout", ("must be 0 of 3", "found 1")),
    ("labels", [1, 2], "wrong-size", ("3 counts", "found 2")),
    ("gradient", "AAAA" * 15, "wrong-size", ("48 bytes", "found 45 bytes")),
    ("gradient", "AAAA" * 17, "wrong-size", ("48 bytes", "found 51 bytes")),
    ("grid", 0, "wrong-grid", ("for 3 samples", "found 0")),
    ("errors", 10**9, "implausible", ("errors", "found 1000000000")),
    ("labels", [1, 1, 10**9], "implausible", ("labels", "found 1000000000")),
]


@pytest.mark.parametrize(
    ("field", "value", "kind", "words"),
    [pytest.param(*case, id=f"{case[0]}={str(case[1])[:20]}") for case in IMPLAUSIBLE],
)
def test_a_value_that_breaks_the_terms(
    bench: Bench, field: str, value: Any, kind: str, words: tuple[str, ...]
) -> None:
    body = changed(bench.task, field, value)
    bench.expect(lambda: bench.check_in(body), kind, *words)


def test_a_stale_version(bench: Bench) -> None:
    task = make_task("prompt", enrolment__max_staleness=1)
    token = enrol(bench.wire, "prompt")
    for seed in range(2):
        assert bench.check_in(checkin(task, seed), "prompt", token).status == 200
    before = bench.wire.get("/v1/tasks/prompt/stats").json()["version"]
    stale = checkin(task, version=before - 2)
    reply = bench.expect(
        lambda: bench.check_in(stale, "prompt", token), "stale-version", "at most 1", "found 2"
    )
    assert reply.json()["version"] == before
    assert bench.wire.get("/v1/tasks/prompt/stats").json()["version"] == before
    one_late = checkin(task, version=before - 1)
    assert bench.check_in(one_late, "prompt", token).json()["version"] == before + 1


# Bodies that are not messages

NESTED = b"[" * 1200
"""A body nested deeper than any parser here accepts, and no larger than a check-in may be."""

BODIES = {
    "empty": b"",
    "not JSON": b"hello",
    "an array": b"[]",
    "a string": b'"checkin"',
    "a number": b"1",
    "true": b"true",
    "null": b"null",
    "XML": b"<a/>",
    "a form": b"terms=a&invite=b",
    "open": b"{",
    "not UTF-8": b'{"id": "\xff\xfe\xff\xfe\xff\xfe\xff\xfe\xff\xfe\xff\xfe\xff\xfe\xff\xfe"}',
    "only not UTF-8": b"\xff\xfe\x00",
    "UTF-16": '{"id": "a"}'.encode("utf-16"),
    "truncated": b'{"id": "0123456789abcdef", "version": 0, "terms',
    "truncated after a wrong value": b'{"id": "short", "version": 0',
    "truncated after a wrong type": b'{"id": 5, "version": 0',
    "not UTF-8 after a wrong type": b'{"id": 5, "terms": "\xff"}',
    "two documents": b"{}{}",
    "nested": b"[" * 700 + b"]" * 700,
    "nested too deeply": NESTED,
    "a nested field": b'{"id": ' + NESTED,
    "a nested last field": b'{"version": 0, "labels": [' + NESTED,
    "not a number": b'{"version": NaN}',
    "infinite": b'{"version": Infinity}',
    "a huge number": b'{"version": 1e999}',
    "zeros": bytes(100),
    "compressed": gzip.compress(bytes(10**6))[:2000],
}


OBJECTS = b'{"a":' * 270 + b"1" + b"}" * 270


def test_a_check_in_that_is_no_message(bench: Bench) -> None:
    with bench.unchanged():
        for body in BODIES.values():
            bench.rejected(bench.check_in(body), "invalid-request", "the body must")
        bench.rejected(bench.check_in(OBJECTS), "invalid-request", "a is not known here")


def test_an_enrolment_that_is_no_message(bench: Bench) -> None:
    def send(body: bytes) -> Reply:
        return bench.wire.call("POST", "/v1/tasks/activity/devices", body)

    with bench.unchanged():
        for body in (b"[" * 1020 + b"]" * 1020, *BODIES.values()):
            bench.rejected(send(body), "invalid-request", "the body must")
        bench.rejected(send(OBJECTS), "invalid-request", "a is not known here")


NO_TEXTS: list[Any] = [["a"], [], {}, True, 1.5]
ENROLMENTS: list[tuple[Any, str, tuple[str, ...]]] = [
    ({}, "invalid-request", ("terms",)),
    ({"terms": None}, "invalid-request", ("terms",)),
    ({"terms": 5}, "invalid-request", ("terms", "found 5")),
    *(({"terms": terms}, "invalid-request", ("terms must be a text, found",))
      for terms in NO_TEXTS),
    ({"terms": "right", "invite": 5}, "invalid-request", ("invite", "found 5")),
    *(({"terms": "right", "invite": invite}, "invalid-request", ("invite must be",))
      for invite in NO_TEXTS),
    ({"terms": "right", "name": "me"}, "invalid-request", ("name is not known here. Remove it.",)),
    ({"terms": ""}, "terms-changed", ("terms must be",)),
    *(({"terms": terms}, "terms-changed", ("terms again before joining",))
      for terms in ("x", "A" * 64, "0" * 63, "0" * 65, "0" * 64 + "\n")),
    ({"terms": "0" * 64}, "terms-changed", ("0" * 64,)),
    ({"terms": "x" * 3000}, "terms-changed", ("x" * 64,)),
    ({"terms": "x" * 5000}, "too-large", ("4,096",)),
]  # fmt: skip


@pytest.mark.parametrize(
    ("message", "kind", "words"),
    [pytest.param(*case, id=str(case[0])[:40]) for case in ENROLMENTS],
)
def test_a_bad_enrolment(bench: Bench, message: Any, kind: str, words: tuple[str, ...]) -> None:
    if message.get("terms") == "right":
        message = message | {"terms": bench.wire.get("/v1/tasks/activity").json()["terms_sha256"]}
    body = json.dumps(message).encode()
    path = "/v1/tasks/activity/devices"
    bench.expect(lambda: bench.wire.call("POST", path, body), kind, *words)


@pytest.mark.parametrize("invite", [None, "", "guess", "x" * 1000, "\u0000"])
def test_an_enrolment_without_a_valid_invite(bench: Bench, invite: str | None) -> None:
    terms = bench.wire.get("/v1/tasks/private").json()["terms_sha256"]
    body = json.dumps({"terms": terms, "invite": invite}).encode()
    path = "/v1/tasks/private/devices"
    bench.expect(lambda: bench.wire.call("POST", path, body), "invite-required", "invite")


# Size

LIMIT = 12 * 16 // 3 + 3 * 12 + 512 + 1024
"""The largest part of the mechanism, and room for the fields that every check-in has."""


@pytest.mark.parametrize("size", [LIMIT + 1, 100_000, 8_000_000])
def test_a_body_that_is_too_large(bench: Bench, size: int) -> None:
    """Check that the rejection arrives or the server hangs up; it never accepts the flood."""
    body = b" " * size
    with bench.server.connected() as wire:
        try:
            bench.expect(
                lambda: wire.call("POST", PATH, body, bench.token), "too-large", f"{LIMIT:,}"
            )
        except ConnectionError:
            assert size > 50_000
    assert bench.check_in(b"{}").status == 400


def test_a_body_without_a_stated_length(bench: Bench) -> None:
    """Send the body in one piece.

    A server that answers early must not find the client still writing.
    """
    head = (
        f"POST {PATH} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {bench.token}\r\n"
        "Transfer-Encoding: chunked\r\n\r\n"
    )
    request = head.encode() + (b"3e8\r\n" + b" " * 1000 + b"\r\n") * 3 + b"0\r\n\r\n"

    def send() -> Reply:
        address = ("127.0.0.1", bench.server.port)
        with closing(socket.create_connection(address, PATIENCE)) as plain:
            plain.sendall(request)
            with closing(http.client.HTTPResponse(plain)) as response:
                response.begin()
                headers = {name.lower(): value for name, value in response.getheaders()}
                return Reply(response.status, headers, response.read())

    bench.expect(send, "too-large", f"{LIMIT:,}")


@pytest.mark.parametrize("chunks", [b"ZZ\r\nhello\r\n", b"5\r\nhelloXX\r\n0\r\n\r\n"])
def test_a_chunk_that_is_none_is_no_fault(bench: Bench, chunks: bytes) -> None:
    head = "POST /v1/tasks/other/devices HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    address = ("127.0.0.1", bench.server.port)
    with closing(socket.create_connection(address, PATIENCE)) as plain:
        plain.sendall(head.encode() + chunks)
        with closing(http.client.HTTPResponse(plain)) as response:
            response.begin()
            headers = {name.lower(): value for name, value in response.getheaders()}
            answer = Reply(response.status, headers, response.read())
    assert (answer.status, problem_kind(answer)) == (400, "invalid-request")


def test_a_chunked_body_of_the_right_size_is_welcome(bench: Bench) -> None:
    task = make_task("other")
    token = enrol(bench.wire, "other")
    body = checkin(task)
    reply = bench.wire.call("POST", "/v1/tasks/other/checkins", iter([body[:50], body[50:]]), token)
    assert (reply.status, reply.json()["status"]) == (200, "applied")


# Authentication

ASKING = pytest.mark.parametrize(
    ("method", "path"), [("POST", "checkins"), ("GET", "model"), ("DELETE", "devices/me")]
)
TOKENS = {
    "none": None,
    "empty": "Bearer ",
    "garbage": "Bearer garbage",
    "another scheme": "Basic dXNlcjpwYXNz",
    "no scheme": "garbage",
    "no token": "Bearer",
    "not ASCII": "Bearer \xe9\xff",
    "huge": "Bearer " + "x" * 5000,
}


@pytest.mark.parametrize("header", TOKENS.values(), ids=TOKENS.keys())
@ASKING
def test_a_request_without_a_valid_token(
    bench: Bench, header: str | None, method: str, path: str
) -> None:
    headers = {} if header is None else {"Authorization": header}
    body = checkin(bench.task) if method == "POST" else None
    reply = bench.expect(
        lambda: bench.wire.call(method, f"/v1/tasks/activity/{path}", body, headers=headers),
        "unauthorized", "token",
    )  # fmt: skip
    assert reply.headers["www-authenticate"] == "Bearer"


@ASKING
def test_a_token_of_another_task(bench: Bench, method: str, path: str) -> None:
    token = enrol(bench.wire, "other")
    # Send it twice: the second time the server knows the token already.
    for _ in range(2):
        bench.expect(
            lambda: bench.wire.call(
                method, f"/v1/tasks/activity/{path}", checkin(bench.task), token
            ),
            "unauthorized", "unknown to this task",
        )  # fmt: skip


@ASKING
def test_a_device_that_has_left(bench: Bench, method: str, path: str) -> None:
    token = enrol(bench.wire)
    assert bench.wire.call("DELETE", "/v1/tasks/activity/devices/me", token=token).status == 204
    body = checkin(bench.task) if method == "POST" else None
    bench.expect(
        lambda: bench.wire.call(method, f"/v1/tasks/activity/{path}", body, token),
        "revoked", "left the task",
    )  # fmt: skip


def test_a_device_that_checks_in_too_often(bench: Bench) -> None:
    task = make_task("slow", enrolment__checkins_per_minute=1.0)
    token = enrol(bench.wire, "slow")
    replies = [bench.check_in(checkin(task, seed), "slow", token) for seed in range(10)]
    assert [reply.status for reply in replies] == [200] * 10
    reply = bench.expect(
        lambda: bench.check_in(checkin(task), "slow", token), "too-frequent", "at most 1 "
    )
    wait = reply.json()["retry_after"]
    assert 0 < wait <= 60
    assert abs(int(reply.headers["retry-after"]) - wait) <= 1
    someone_else = enrol(bench.wire, "slow")
    assert bench.check_in(checkin(task), "slow", someone_else).status == 200


# States


def test_a_finished_task_says_its_state(bench: Bench) -> None:
    task = make_task("short", stop__updates=1)
    token = enrol(bench.wire, "short")
    last = checkin(task)
    assert bench.check_in(last, "short", token).json() == {"version": 1, "status": "applied"}
    for _ in range(2):
        reply = bench.expect(
            lambda: bench.check_in(checkin(task), "short", token),
            "task-finished",
            "check-ins are in",
        )
        assert reply.json()["state"] == "exhausted"
    assert bench.check_in(last, "short", token).json() == {"version": 1, "status": "duplicate"}
    checkout = bench.wire.get("/v1/tasks/short/model", token).json()
    assert (checkout["version"], checkout["state"]) == (1, "exhausted")
    terms = bench.wire.get("/v1/tasks/short").json()["terms_sha256"]
    body = json.dumps({"terms": terms}).encode()
    reply = bench.expect(
        lambda: bench.wire.call("POST", "/v1/tasks/short/devices", body), "task-finished"
    )
    assert reply.json()["state"] == "exhausted"


# Addresses


NO_TASKS = [
    "nope", "ACTIVITY", "..", "%2e%2e", "a%00b", "%F0%9F%98%80", "activity%20", "x" * 300,
    "x" * 1900, "%ff%fe", "nope/stats", "nope/events", "nope/export",
]  # fmt: skip
NOWHERE = [
    "/v1", "/v1/", "/v2/tasks", "/v1/task", "/v1/tasks/", "/v1/tasks/activity/", "/v1/tasks//x",
    "/v1/tasks/activity/nope", "/v1/tasks/activity/devices/you/x", "/%00", "/v1/tasks/a/b/c",
]  # fmt: skip
METHODS = [
    *((method, "/v1/tasks") for method in ("POST", "PUT", "DELETE", "PATCH", "OPTIONS")),
    ("PUT", "/v1/tasks/activity"),
    ("POST", "/v1/tasks/activity/stats"),
    ("DELETE", "/v1/tasks/activity/stats"),
    ("GET", "/v1/tasks/activity/devices"),
    ("GET", "/v1/tasks/activity/checkins"),
    ("DELETE", "/v1/tasks/activity/checkins"),
    ("POST", "/v1/tasks/activity/export"),
    ("POST", "/healthz"),
]


def test_an_address_where_nothing_is(bench: Bench) -> None:
    with bench.unchanged():
        bench.rejected(bench.wire.get("/", bench.token), "not-found")
        for name in NO_TASKS:
            reply = bench.wire.get(f"/v1/tasks/{name}", bench.token)
            bench.rejected(reply, "not-found", "there is no task")
        for path in NOWHERE:
            reply = bench.wire.get(path, bench.token)
            bench.rejected(reply, "not-found", "is not part of the protocol")


def test_a_method_that_an_address_does_not_take(bench: Bench) -> None:
    with bench.unchanged():
        for method, path in METHODS:
            reply = bench.wire.call(method, path, token=bench.token)
            bench.rejected(reply, "method-not-allowed", f"{method} {path} is not part")
            assert reply.headers["allow"], (method, path)


ROLES = ["", "nobody", "TRAIN", "train,count", "x" * 300, "%00", "1"]
FORMATS = ["", "pickle", "xml", "NPZ", "json,onnx", "../npz", "x" * 1000, "%00"]


def test_a_role_that_does_not_exist(bench: Bench) -> None:
    with bench.unchanged():
        for role in ROLES:
            reply = bench.wire.get(f"/v1/tasks/activity/model?role={role}", bench.token)
            rule = "role must be train, evaluate or count, found"
            bench.rejected(reply, "invalid-parameter", rule)


def test_an_export_format_that_does_not_exist(bench: Bench) -> None:
    with bench.unchanged():
        for name in FORMATS:
            reply = bench.wire.get(f"/v1/tasks/activity/export?format={name}")
            rule = "format must be npz, json or onnx, found"
            bench.rejected(reply, "invalid-parameter", rule)

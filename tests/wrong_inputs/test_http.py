"""Wrong requests to one shared server: a problem document with a rule, never a fault."""

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from crowdml.protocol import PROBLEMS
from tests.support.servers import Process, Wire, checkin, create, enrol, make_task, problem_kind
from tests.wrong_inputs.expect_error import RAW

CHECKINS = "/v1/tasks/activity/checkins"
DEVICES = "/v1/tasks/activity/devices"
TASK = make_task()


class Here(NamedTuple):
    """The server, a connection to it, and the token of an enrolled device."""

    server: Process
    wire: Wire
    token: str


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Here]:
    process = Process(tmp_path_factory.mktemp("server"))
    create(process.database, TASK, make_task("private", enrolment__mode="invite"))
    process.start()
    with process.connected() as wire:
        yield Here(process, wire, enrol(wire))
        assert process.complaints == []
    process.kill()


def check(here: Here, reply: Any, kind: str, said: str) -> None:
    assert problem_kind(reply) == kind, reply.body
    assert reply.status == PROBLEMS[kind].status
    assert reply.status < 500, reply.body
    detail = reply.json()["detail"]
    assert said in detail, detail
    assert not RAW.search(detail), detail
    assert len(detail) < 2000, detail


ADDRESSES: list[tuple[str, str, str, str]] = [
    *(("GET", path, "not-found", "is not part of the protocol") for path in
      ("/v1", "/v1/", "/v2/tasks", "/v1/task", "/v1/tasks/", "/v1/tasks/activity/", "/v1/tasks//x",
       "/v1/tasks/activity/nope", "/v1/tasks/activity/devices/you/x", "/%00", "/v1/tasks/a/b/c")),
    *(("GET", f"/v1/tasks/{name}", "not-found", "there is no task") for name in
      ("nope", "ACTIVITY", "..", "%2e%2e", "a%00b", "%F0%9F%98%80", "activity%20", "x" * 300)),
    *(("GET", f"/v1/tasks/nope/{part}", "not-found", "there is no task") for part in
      ("stats", "events", "export")),
    *((method, "/v1/tasks", "method-not-allowed", f"{method} /v1/tasks is not part") for method in
      ("POST", "PUT", "DELETE", "PATCH", "OPTIONS")),
    *((method, "/v1/tasks/activity/stats", "method-not-allowed", "is not part of the protocol")
      for method in ("POST", "DELETE")),
    ("GET", CHECKINS, "method-not-allowed", "is not part of the protocol"),
    ("GET", DEVICES, "method-not-allowed", "is not part of the protocol"),
    *(("GET", f"/v1/tasks/activity/export?format={text}", "invalid-parameter",
       "format must be npz, json or onnx, found") for text in
      ("", "xml", "NPZ", "npz,json", "../npz", "x" * 300, "%00")),
    ("GET", "/v1/tasks/activity/export", "not-found", "has learnt nothing yet"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("method", "path", "kind", "said"), ADDRESSES, ids=[f"{m} {p}"[:60] for m, p, _, _ in ADDRESSES]
)
def test_addresses(here: Here, method: str, path: str, kind: str, said: str) -> None:
    check(here, here.wire.call(method, path), kind, said)


TOKENS = [
    "",
    "x",
    "Bearer",
    "Bearer ",
    "Bearer x",
    "Basic eDp5",
    "bearer " + "x" * 5000,
    "Bearer é",
]


@pytest.mark.parametrize("value", TOKENS, ids=[text[:12] or "none" for text in TOKENS])
@pytest.mark.parametrize(
    ("method", "path"),
    [("GET", "/v1/tasks/activity/model"), ("POST", CHECKINS), ("DELETE", f"{DEVICES}/me")],
)
def test_tokens(here: Here, method: str, path: str, value: str) -> None:
    headers = {"Authorization": value.encode("latin-1").decode("latin-1")} if value else {}
    body = checkin(TASK) if method == "POST" else None
    check(here, here.wire.call(method, path, body, headers=headers), "unauthorized", "token")


@pytest.mark.parametrize("role", ["", "nobody", "TRAIN", "train,count", "x" * 300, "%00", "1"])
def test_roles(here: Here, role: str) -> None:
    reply = here.wire.get(f"/v1/tasks/activity/model?role={role}", here.token)
    check(here, reply, "invalid-parameter", "role must be train, evaluate or count, found")


BODIES: dict[str, bytes] = {
    "empty": b"", "text": b"hello", "list": b"[]", "null": b"null", "number": b"1", "true": b"true",
    "string": b'"a"', "open": b"{", "two": b"{}{}", "not UTF-8": b'{"terms": "\xff"}',
    "UTF-16": "{}".encode("utf-16"), "zeros": bytes(50), "deep": b"[" * 1500, "NaN": b'{"a": NaN}',
    "xml": b"<a/>", "form": b"terms=a&invite=b",
}  # fmt: skip


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
@pytest.mark.parametrize("path", [CHECKINS, DEVICES])
def test_bodies(here: Here, path: str, body: bytes) -> None:
    check(here, here.wire.call("POST", path, body, here.token), "invalid-request", "the body must")


NOT_TEXTS: list[Any] = [None, 5, [], {}, True, 1.5]
HASHES = ["", "x", "A" * 64, "0" * 63, "0" * 65, "0" * 64 + "\n", "0" * 64]
ENROLMENTS: list[tuple[Any, str, str]] = [
    ({}, "invalid-request", "terms is missing"),
    *(({"terms": terms}, "invalid-request", "terms must be a text, found") for terms in NOT_TEXTS),
    *(({"terms": terms}, "terms-changed", "terms again before joining") for terms in HASHES),
    *(({"terms": "0" * 64, "invite": invite}, "invalid-request", "invite must be")
      for invite in NOT_TEXTS[1:]),
    ({"terms": "0" * 64, "limit": 1}, "invalid-request", "limit is not known here"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("message", "kind", "said"), ENROLMENTS, ids=[str(m)[:50] for m, _, _ in ENROLMENTS]
)
def test_enrolments(here: Here, message: Any, kind: str, said: str) -> None:
    check(here, here.wire.call("POST", DEVICES, json.dumps(message).encode()), kind, said)


BAD: dict[str, tuple[str, list[Any]]] = {
    "id": (
        "id must be 16 to 64 letters",
        [None, 5, "", "short", "x" * 65, "a b" * 8, [], "é" * 20],
    ),
    "version": ("version must be", [None, "0", -1, 0.5, True, []]),
    "terms": ("terms must be a SHA-256", [None, "", 5, "A" * 64]),
    "samples": ("samples must be a whole number", [None, "3", 3.5, 0, -1, True, 10**30]),
    "heldout": ("heldout must be", [None, "0", -1, 0.5]),
    "errors": ("errors must be", [None, "1", 1.5, 2**40]),
    "labels": ("labels must be", [None, 3, "1,2,3", {"0": 1}, [1, 2, "3"], [1, 2, None]]),
    "grid": ("grid must be", [None, "x", 0.5, 1001]),
    "gradient": ("gradient must be", [None, 5, [0] * 12, {}, "?", "AAA", "é"]),
    "x": ("x is not known here. Remove it", [[0.1] * 4]),
}
FIELDS: list[tuple[str, Any, str, str]] = [
    *((field, value, "invalid-request", said)
      for field, (said, values) in BAD.items() for value in values),
    ("version", 10**30, "future-version", "at most 0"),
    ("terms", "0" * 64, "terms-changed", "0" * 64),
    ("samples", 2, "too-few-samples", "at least 3"),
    ("samples", 31, "too-many-samples", "at most 30"),
    ("heldout", 1, "wrong-heldout", "must be 0 of 3"),
    ("labels", [1, 2], "wrong-size", "3 counts"),
    ("grid", 0, "wrong-grid", "for 3 samples"),
    ("gradient", "AAAA", "wrong-size", "48 bytes"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("field", "value", "kind", "said"), FIELDS, ids=[f"{f}={v!r}"[:40] for f, v, _, _ in FIELDS]
)
def test_checkins(here: Here, field: str, value: Any, kind: str, said: str) -> None:
    body = json.dumps(json.loads(checkin(TASK)) | {field: value}).encode()
    check(here, here.wire.call("POST", CHECKINS, body, here.token), kind, said)


def test_a_body_that_is_too_large(here: Here) -> None:
    reply = here.wire.call("POST", DEVICES, b"x" * 5000)
    check(here, reply, "too-large", "the body must be at most 4,096 bytes")


def test_a_task_by_invitation(here: Here) -> None:
    terms = here.wire.get("/v1/tasks/private").json()["terms_sha256"]
    for invite in (None, "", "nope"):
        message = {"terms": terms, "invite": invite}
        reply = here.wire.call("POST", "/v1/tasks/private/devices", json.dumps(message).encode())
        assert reply.status in (400, 403), reply.body

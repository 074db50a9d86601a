"""Compare every answer of every route with the document that the server itself serves."""

import json
from typing import Any

import msgspec
import pytest
from jsonschema import Draft202012Validator

from crowdml import __version__
from crowdml.protocol import openapi
from tests.support.servers import (
    FaultyServer,
    HttpClient,
    Reply,
    checkin,
    direction_checkin,
    enrolled,
    make_direction_task,
    make_task,
)


class Contract:
    """Validate answers against the served OpenAPI document."""

    def __init__(self, document: dict[str, Any]) -> None:
        self.document = document
        self.seen: set[tuple[str, str, str]] = set()

    def validator(self, schema: dict[str, Any]) -> Draft202012Validator:
        components = {"components": self.document["components"]}
        return Draft202012Validator(components | schema)

    def judge(self, method: str, path: str, reply: Reply) -> None:
        """Check that the document describes the status, the media type and the body."""
        operation = self.document["paths"][path][method.lower()]
        responses = operation["responses"]
        assert str(reply.status) in responses, (method, path, reply)
        self.seen.add((method, path, str(reply.status)))
        promised = responses[str(reply.status)].get("content", {})
        if not promised:
            assert reply.body == b""
            return
        media_type = reply.headers["content-type"].partition(";")[0]
        assert media_type in promised, (method, path, reply)
        schema = promised[media_type].get("schema")
        if schema and media_type.endswith("json"):
            self.validator(schema).validate(reply.json())


@pytest.fixture(scope="module")
def contract(server: FaultyServer) -> Contract:
    with server.connected() as wire:
        document = wire.get("/v1/openapi.json").json()
    assert document == msgspec.to_builtins(openapi(__version__)), (
        "see tests/protocol/test_openapi.py"
    )
    return Contract(document)


def test_every_answer_is_as_described(contract: Contract, wire: HttpClient) -> None:
    judge = contract.judge
    task = make_task("still")

    def call(
        method: str, path: str, body: Any = None, token: str | None = None, **headers: str
    ) -> Reply:
        data = json.dumps(body).encode() if isinstance(body, dict) else body
        address = path.replace("{task}", "still")
        template, _, _ = path.partition("?")
        reply = wire.call(method, address, data, token, headers)
        judge(method, template, reply)
        return reply

    call("GET", "/v1/tasks")
    view = call("GET", "/v1/tasks/{task}").json()
    joined = call("POST", "/v1/tasks/{task}/devices", {"terms": view["terms_sha256"]})
    assert joined.status == 201
    token = joined.json()["token"]
    for body in (b"{}", b"nonsense", b" " * 5000, {"terms": "wrong"}):
        assert call("POST", "/v1/tasks/{task}/devices", body).status >= 400
    etag = call("GET", "/v1/tasks/{task}/model", None, token).headers["etag"]
    fresh = call("GET", "/v1/tasks/{task}/model", None, token, **{"If-None-Match": etag})
    assert fresh.status == 304
    assert call("GET", "/v1/tasks/{task}/model").status == 401
    untaught = call("GET", "/v1/tasks/{task}/export")
    assert (untaught.status, "has learnt nothing yet" in untaught.json()["detail"]) == (404, True)
    body = checkin(task)
    assert call("POST", "/v1/tasks/{task}/checkins", body, token).status == 200
    assert call("POST", "/v1/tasks/{task}/checkins", body, token).json()["status"] == "duplicate"
    for bad in (
        b"{}",
        b" " * 9000,
        checkin(task, version=999),
        checkin(task, samples=1),
        checkin(task, grid=0),
        checkin(task, errors=10**9),
        checkin(task, labels=(1,)),
    ):
        assert call("POST", "/v1/tasks/{task}/checkins", bad, token).status >= 400
    assert call("POST", "/v1/tasks/{task}/checkins", body).status == 401
    call("GET", "/v1/tasks/{task}/stats")
    for kind in ("npz", "json", "onnx"):
        assert call("GET", f"/v1/tasks/{{task}}/export?format={kind}").status == 200
    assert call("GET", "/v1/tasks/{task}/export?format=pickle").status == 400
    for path in ("/v1/openapi.json", "/healthz", "/readyz", "/metrics"):
        assert call("GET", path).status == 200
    assert call("DELETE", "/v1/tasks/{task}/devices/me").status == 401
    assert call("DELETE", "/v1/tasks/{task}/devices/me", None, token).status == 204
    assert call("GET", "/v1/tasks/{task}/model", None, token).status == 403
    assert call("POST", "/v1/tasks/{task}/checkins", body, token).status == 403
    assert len(contract.seen) >= 20


def test_answers_about_people_are_as_described(contract: Contract, wire: HttpClient) -> None:
    task = make_direction_task("people", collection__evaluators=0.3, collection__counters=0.3)
    joined = enrolled(wire, "people")
    path = "/v1/tasks/{task}/checkins"
    first = direction_checkin(task, joined["device"])
    again, last = (
        direction_checkin(task, joined["device"]),
        direction_checkin(task, joined["device"], number=11),
    )
    both = direction_checkin(task, joined["device"], number=2, direction=0, wrong=0)
    for body, status in ((first, 200), (first, 200), (again, 409), (last, 409), (both, 422)):
        address = path.replace("{task}", "people")
        reply = wire.call("POST", address, body, joined["token"])
        contract.judge("POST", path, reply)
        assert reply.status == status
    statistics = wire.get("/v1/tasks/people/stats")
    contract.judge("GET", "/v1/tasks/{task}/stats", statistics)
    assert statistics.json()["samples"] is None


def test_a_missing_task_is_as_described(contract: Contract, wire: HttpClient) -> None:
    for path, item in contract.document["paths"].items():
        for method in set(item) - {"parameters"}:
            if "{task}" in path:
                reply = wire.call(method.upper(), path.replace("{task}", "nope"), token="x")
                contract.judge(method.upper(), path, reply)
                assert reply.status == 404


def test_the_schema_rejects_what_the_server_rejects(contract: Contract) -> None:
    """Check that authors who validate against the document learn of mistakes before sending."""
    validator = contract.validator({"$ref": "#/components/schemas/NoiseCheckin"})
    message = json.loads(checkin(make_task()))
    validator.validate(message)
    for field, value in {
        "id": "short", "version": -1, "terms": "x", "samples": 0, "heldout": -1,
        "errors": 2**31, "labels": ["1"], "grid": 1001, "gradient": 5,
    }.items():  # fmt: skip
        assert not validator.is_valid(message | {field: value}), field
        assert not validator.is_valid({k: v for k, v in message.items() if k != field}), field
    assert not validator.is_valid(message | {"x": [0.5]})


def test_the_schema_of_one_small_number(contract: Contract) -> None:
    validator = contract.validator({"$ref": "#/components/schemas/DirectionCheckin"})
    all_train = make_direction_task(collection__evaluators=0.0, collection__counters=0.0)
    message = json.loads(direction_checkin(all_train, "ana"))
    validator.validate(message)
    others = {k: v for k, v in message.items() if k != "direction"}
    for field in ("wrong", "answer"):
        validator.validate(others | {field: 1})
    assert not validator.is_valid(others | {"report": 3})
    for field, value in {
        "id": "short", "version": -1, "terms": "x", "number": 0, "direction": -1, "wrong": "1",
        "answer": -1,
    }.items():  # fmt: skip
        assert not validator.is_valid(message | {field: value}), field
    for field in ("id", "version", "terms", "number"):
        assert not validator.is_valid({k: v for k, v in message.items() if k != field}), field
    assert not validator.is_valid(message | {"samples": 20})


def test_a_check_in_is_of_one_kind(contract: Contract) -> None:
    """Check that no message is of both kinds; the task's terms decide which kind is used."""
    content = contract.document["paths"]["/v1/tasks/{task}/checkins"]["post"]["requestBody"]
    validator = contract.validator(content["content"]["application/json"]["schema"])
    validator.validate(json.loads(checkin(make_task())))
    validator.validate(json.loads(direction_checkin(make_direction_task(), "ana")))
    assert not validator.is_valid(
        json.loads(checkin(make_task()))
        | json.loads(direction_checkin(make_direction_task(), "ana"))
    )

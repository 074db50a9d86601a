"""Write the OpenAPI document, the wire contract, from the message types themselves."""

from typing import Any

import msgspec

from crowdml.privacy import Role
from crowdml.protocol.mechanisms import MECHANISMS
from crowdml.protocol.wire import (
    MEDIA_TYPE,
    PROBLEMS,
    TERMS_HEADER,
    CheckinAnswer,
    Checkout,
    Enrol,
    Enrolled,
    Statistics,
    TaskList,
    TaskView,
    checkin_type,
)

TASK = {"name": "task", "in": "path", "required": True, "schema": {"type": "string"}}
FORMATS = {"type": "string", "enum": ["npz", "json", "onnx"], "default": "npz"}
ROLES = {"type": "string", "enum": [role.value for role in Role], "default": Role.TRAIN.value}
ROLE = {
    "name": "role",
    "in": "query",
    "required": False,
    "description": "The role of the check-in that the parameters are for.",
    "schema": ROLES,
}
FORMAT = {"name": "format", "in": "query", "required": False, "schema": FORMATS}


def openapi(version: str) -> dict[str, Any]:
    """Return the whole document as plain data."""
    types = [*_checkins(), CheckinAnswer, Checkout, Enrol, Enrolled, Statistics, TaskList, TaskView]
    _, schemas = msgspec.json.schema_components(types, ref_template="#/components/schemas/{name}")
    schemas["Problem"] = _problem_schema()
    schemas["Values"] = _values_schema()
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "crowdml",
            "version": version,
            "description": (
                "Devices learn together without showing their data. A device reads a task's "
                "terms, enrols, and then repeats: collect samples, check out the parameters, "
                "compute and sanitise a gradient, check it in. docs/protocol.md explains each "
                "step, with the noise that a device must add."
            ),
        },
        "paths": _paths(),
        "components": {
            "schemas": schemas,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _checkins() -> list[type[msgspec.Struct]]:
    return [
        checkin_type(payload_type)
        for payload_type in dict.fromkeys(k.payload_type for k in MECHANISMS.values())
    ]


def _paths() -> dict[str, Any]:
    octets: dict[str, Any] = {"application/octet-stream": {}, "application/json": {}}
    stream = {"text/event-stream": {"schema": {"type": "string"}}}
    never = ("invalid-parameter", "invite-required", "method-not-allowed")
    operations = {
        "get /v1/tasks": _operation("List the tasks", _json("TaskList")),
        "get /v1/tasks/{task}": _operation(
            "Describe a task and its terms", _json("TaskView"), "not-found"),
        "post /v1/tasks/{task}/devices": _operation(
            "Enrol a device that has agreed to the terms",
            _json("Enrolled"), "invalid-request", "not-found", "terms-changed",
            "invite-required", "task-finished", "too-large", "unavailable",
            body=("Enrol",), status=201),
        "delete /v1/tasks/{task}/devices/me": _operation(
            "Leave: the token ends; nothing sent before can be linked to new check-ins",
            {}, "unauthorized", "revoked", "not-found", "unavailable", token=True, status=204),
        "get /v1/tasks/{task}/model": _operation(
            "Check out the current parameters", _json("Checkout"), "invalid-parameter",
            "unauthorized", "revoked", "not-found", "unavailable", token=True, not_modified=True),
        "post /v1/tasks/{task}/checkins": _operation(
            "Check in a payload of the task's mechanism", _json("CheckinAnswer"),
            *(kind for kind in PROBLEMS if kind not in never),
            body=tuple(each.__name__ for each in _checkins()), token=True),
        "get /v1/tasks/{task}/stats": _operation(
            "Private statistics", _json("Statistics"), "not-found"),
        "get /v1/tasks/{task}/events": _operation(
            "The statistics as server-sent events: `event: statistics`, data as in /stats",
            stream, "not-found"),
        "get /v1/tasks/{task}/export": _operation(
            "The learnt model", octets, "not-found", "invalid-parameter"),
        "get /v1/openapi.json": _operation("This document", {"application/json": {}}),
        "get /healthz": _operation("Is the process alive", {"text/plain": {}}),
        "get /readyz": _operation("Can it take check-ins", {"text/plain": {}}, "unavailable"),
        "get /metrics": _operation("Metrics, for operators", {"text/plain": {}}, "not-found"),
    }  # fmt: skip
    return dict(_path(place, operation) for place, operation in operations.items())


def _path(place: str, operation: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    method, path = place.split()
    parameters = [TASK] if "{task}" in path else []
    parameters += [FORMAT] if path.endswith("/export") else []
    parameters += [ROLE] if path.endswith("/model") else []
    return path, ({"parameters": parameters} if parameters else {}) | {method: operation}


def _operation(
    summary: str,
    content: dict[str, Any],
    *problems: str,
    body: tuple[str, ...] = (),
    token: bool = False,
    status: int = 200,
    not_modified: bool = False,
) -> dict[str, Any]:
    responses: dict[str, Any] = {str(status): {"description": "Done"}}
    if content:
        responses[str(status)]["content"] = content
    if not_modified:
        text = {"schema": {"type": "string"}}
        terms = text | {"description": "SHA-256 of the terms now in force"}
        headers = {"headers": {"ETag": text, TERMS_HEADER: terms}}
        current = {"description": "The parameters with this ETag are still current"}
        responses[str(status)] |= headers
        responses["304"] = current | headers
    for code in sorted({PROBLEMS[kind].status for kind in problems}):
        kinds = ", ".join(kind for kind in problems if PROBLEMS[kind].status == code)
        problem = {MEDIA_TYPE: {"schema": _ref("Problem")}}
        responses[str(code)] = {"description": kinds, "content": problem}
    operation: dict[str, Any] = {"summary": summary, "responses": responses}
    if body:
        operation["requestBody"] = {"required": True, "content": _json(*body)}
    if token:
        operation["security"] = [{"token": []}]
    return operation


def _json(*schemas: str) -> dict[str, Any]:
    """Describe a body of one of these types; the task's terms decide which."""
    refs = [_ref(schema) for schema in schemas]
    return {"application/json": {"schema": refs[0] if len(refs) == 1 else {"oneOf": refs}}}


def _ref(schema: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{schema}"}


def _problem_schema() -> dict[str, Any]:
    return {
        "title": "Problem",
        "description": "RFC 9457. The type is stable: urn:crowdml:problem: and one of "
        + ", ".join(PROBLEMS) + ".",
        "type": "object",
        "required": ["type", "title", "status", "detail"],
        "properties": {
            "type": {"type": "string"},
            "title": {"type": "string"},
            "status": {"type": "integer"},
            "detail": {"type": "string"},
            "template": {
                "type": "string",
                "description": "The detail with {names} in place of its values, as catalogues of "
                "translations know it",
            },
            "values": _ref("Values"),
            "state": {"type": "string", "description": "With task-finished and task-paused"},
            "version": {"type": "integer", "description": "With stale-version, future-version"},
            "retry_after": {"type": "number", "description": "Seconds, with too-frequent"},
        },
    }  # fmt: skip


def _values_schema() -> dict[str, Any]:
    nested = {
        "type": "object",
        "required": ["template", "values"],
        "properties": {"template": {"type": "string"}, "values": _ref("Values")},
    }
    return {
        "title": "Values",
        "description": "A value for each {name} of the template: a text, a number, or another "
        "template with its values.",
        "type": "object",
        "additionalProperties": {"oneOf": [{"type": "string"}, {"type": "number"}, nested]},
    }

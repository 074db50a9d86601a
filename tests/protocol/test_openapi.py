"""Test that the OpenAPI document is complete and matches routes, messages and problems."""

import json
from collections.abc import Iterator
from typing import Any

import jsonschema
import msgspec
import pytest
from starlette.routing import Route

from crowdml.phrase import Phrase
from crowdml.protocol import (
    MEDIA_TYPE,
    PROBLEMS,
    CheckinAnswer,
    Checkout,
    Enrol,
    Enrolled,
    Estimate,
    State,
    Statistics,
    Task,
    TaskList,
    TaskView,
    openapi,
    problem_document,
    rejected,
    terms_hash,
)
from crowdml.server.http.routes import ROUTES
from tests.protocol.files import task_file
from tests.support.checkins import DirectionCheckin, NoiseCheckin

DOCUMENT: dict[str, Any] = json.loads(msgspec.json.encode(openapi("1.2.3")))
METHODS = {"get", "post", "delete", "put", "patch"}


def references(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        if isinstance(node.get("$ref"), str):
            yield node["$ref"]
        node = list(node.values())
    if isinstance(node, list):
        for inner in node:
            yield from references(inner)


def operations() -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, item in DOCUMENT["paths"].items():
        for method in METHODS & set(item):
            yield path, method, item[method]


def test_every_reference_resolves() -> None:
    found = set(references(DOCUMENT))
    assert len(found) >= 8
    for reference in found:
        place: Any = DOCUMENT
        assert reference.startswith("#/")
        for name in reference[2:].split("/"):
            place = place[name]
        assert isinstance(place, dict)


def test_every_schema_is_used_and_valid() -> None:
    used = {reference.rsplit("/", 1)[1] for reference in references(DOCUMENT)}
    schemas = DOCUMENT["components"]["schemas"]
    assert used == set(schemas)
    for schema in schemas.values():
        jsonschema.Draft202012Validator.check_schema(schema)


def test_routes_and_paths_are_the_same() -> None:
    routes = set()
    for route in ROUTES:
        assert isinstance(route, Route)
        routes |= {(route.path, method.lower()) for method in (route.methods or set()) - {"HEAD"}}
    assert routes == {(path, method) for path, method, _ in operations()}


def test_path_parameters_are_declared() -> None:
    for path, item in DOCUMENT["paths"].items():
        declared = {p["name"] for p in item.get("parameters", []) if p["in"] == "path"}
        assert declared == {part[1:-1] for part in path.split("/") if part.startswith("{")}


def test_head() -> None:
    assert DOCUMENT["openapi"] == "3.1.0"
    assert DOCUMENT["info"]["title"] == "crowdml"
    assert DOCUMENT["info"]["version"] == "1.2.3"


@pytest.mark.parametrize("kind", PROBLEMS)
def test_every_problem_is_documented(kind: str) -> None:
    description = DOCUMENT["components"]["schemas"]["Problem"]["description"]
    assert kind in description.replace(".", "").replace(",", "").split()
    if kind == "method-not-allowed":  # The answer to methods that no operation describes.
        return
    places = [
        (status, answer)
        for _, _, operation in operations()
        for status, answer in operation["responses"].items()
        if kind in answer["description"].split(", ")
    ]
    assert places
    for status, answer in places:
        assert int(status) == PROBLEMS[kind].status
        assert list(answer["content"]) == [MEDIA_TYPE]


def test_token_is_asked_for_where_it_is_needed() -> None:
    secured = {(path, method) for path, method, o in operations() if o.get("security")}
    assert secured == {
        ("/v1/tasks/{task}/devices/me", "delete"),
        ("/v1/tasks/{task}/model", "get"),
        ("/v1/tasks/{task}/checkins", "post"),
    }
    assert set(DOCUMENT["components"]["securitySchemes"]) == {"token"}
    for path, method, operation in operations():
        documented = "401" in operation["responses"]
        assert documented == ((path, method) in secured)


def _view() -> TaskView:
    task = Task.from_toml(task_file())
    text = task.terms.text
    return TaskView(
        task.name, task.title, task.objective, State.RUNNING, True, "open", "sgd", 3, 2, text,
        terms_hash(text),
    )  # fmt: skip


MESSAGES: list[Any] = [
    DirectionCheckin(id="a" * 16, version=1, terms="0" * 64, number=1, direction=1023),
    DirectionCheckin(id="a" * 16, version=1, terms="0" * 64, number=2, wrong=1),
    DirectionCheckin(id="a" * 16, version=1, terms="0" * 64, number=3, answer=9),
    NoiseCheckin(
        id="a" * 16, version=1, terms="0" * 64, samples=20, heldout=0, errors=-1, labels=(1, 2),
        grid=-20, gradient=b"1234",
    ),
    CheckinAnswer(2, "duplicate"),
    Checkout(2, State.PAUSED, b"1234"),
    Checkout(2, State.RUNNING, b"1234", b"5678"),
    Enrol("0" * 64),
    Enrol("0" * 64, "invite"),
    Enrolled("d1", "secret"),
    Statistics(
        State.RUNNING, 3, 2, 1, 60, Estimate(0.5, 0.1), (Estimate(0.3, 0.2),), 0.5, 2, 3.0,
        None, 1.0, 4.0, 100, None, "between 40 and 60\u00a0% wrong", 2,
    ),
    TaskList((_view(),)),
    _view(),
]  # fmt: skip


def validator(name: str) -> Any:
    schema = {
        "$ref": f"#/components/schemas/{name}",
        "components": DOCUMENT["components"],
    }
    return jsonschema.Draft202012Validator(schema)


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: type(message).__name__)
def test_messages_fit_their_schema(message: Any) -> None:
    validator(type(message).__name__).validate(json.loads(msgspec.json.encode(message)))


@pytest.mark.parametrize("kind", PROBLEMS)
def test_problems_fit_their_schema(kind: str) -> None:
    words = Phrase("{n} samples, found {found}.", n=3, found=Phrase("{n} too few", n=1.5))
    for detail in ("No.", words):
        document = json.loads(problem_document(rejected(kind, detail, version=3)))
        validator("Problem").validate(document)


@pytest.mark.parametrize("value", [None, True, [], {"n": 3}, {"template": "x", "values": [1]}])
def test_values_are_texts_numbers_or_phrases(value: Any) -> None:
    problem = json.loads(problem_document(rejected("fault", Phrase("{n}", n=3))))
    with pytest.raises(jsonschema.ValidationError):
        validator("Problem").validate({**problem, "values": {"n": value}})

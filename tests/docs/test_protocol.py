"""The page about the wire says everything that the code does."""

import json
import re

import pytest

from crowdml.protocol import PROBLEMS, TERMS_HEADER, Checkin, State, Terms
from crowdml.server.api import ROUTES
from tests.docs.pages import blocks, inline, page, table_rows
from tests.servers import make_task

PROTOCOL = page("docs/protocol.md")


def test_every_problem_with_its_status() -> None:
    found: dict[str, str] = {}
    for cells in table_rows(PROTOCOL.partition("## 8.")[2]):
        found |= dict.fromkeys(re.findall(r"`([a-z-]+)`", cells[0]), cells[1])
    assert set(found) == set(PROBLEMS)
    for kind, problem in PROBLEMS.items():
        assert str(problem.status) in found[kind].split(", "), kind


def test_every_field_of_a_checkin() -> None:
    section = PROTOCOL.partition("## 7.")[2].partition("## 8.")[0]
    found = [cells[0].strip("`") for cells in table_rows(section)]
    assert tuple(found[1:]) == Checkin.__struct_fields__


@pytest.mark.parametrize("path", sorted(route.path for route in ROUTES))
def test_every_route(path: str) -> None:
    """By its whole address, or where the task's address is clear, by its end."""
    (route,) = (route for route in ROUTES if route.path == path)
    method = next(iter((route.methods or {"GET"}) - {"HEAD"}))
    told = [text.partition("?")[0] for text in inline(PROTOCOL)]
    allowed = {f"{method} {path}"}
    if method == "GET":
        allowed |= {path, "/" + path.rpartition("/")[2]}
    assert allowed & set(told)


def test_no_route_is_invented() -> None:
    paths = {route.path for route in ROUTES}
    told = re.findall(r"(?:GET|POST|PUT|PATCH|DELETE) (/[^\s`?]*)", PROTOCOL)
    assert told
    assert set(told) <= paths


def test_the_terms_as_they_are_shown() -> None:
    (block,) = blocks(PROTOCOL, "json")
    shown = json.loads(block)
    assert Terms.parse(block).private
    assert _keys(shown) == _keys(json.loads(make_task().terms.text))


def _keys(document: object) -> object:
    if isinstance(document, dict):
        return {key: _keys(value) for key, value in document.items()}
    return None


def test_every_state_and_the_header() -> None:
    for state in State:
        assert state is State.RUNNING or f"`{state}`" in PROTOCOL
    assert f"`{TERMS_HEADER}`" in PROTOCOL

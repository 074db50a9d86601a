"""RFC 9457 on the wire: stable types, there and back, and no trust in the other side."""

import json
import re
from http import HTTPStatus
from pathlib import Path

import pytest

import crowdml.privacy
import crowdml.server
from crowdml.errors import Rejected
from crowdml.protocol import PROBLEMS, problem_document, read_problem, rejected

SERVER = Path(crowdml.server.__file__).parent
MECHANISMS = Path(crowdml.privacy.__file__).parent


@pytest.mark.parametrize("kind", PROBLEMS)
def test_round_trip(kind: str) -> None:
    error = rejected(kind, "Something was wrong.", state="paused", retry_after=1.5)
    document = json.loads(problem_document(error))
    assert document == {
        "type": f"urn:crowdml:problem:{kind}",
        "title": PROBLEMS[kind].title,
        "status": PROBLEMS[kind].status,
        "detail": "Something was wrong.",
        "state": "paused",
        "retry_after": 1.5,
    }
    found = read_problem(error.status, problem_document(error))
    assert (found.kind, found.status, found.detail) == (kind, error.status, error.detail)
    assert found.extra["state"] == "paused"


@pytest.mark.parametrize("kind", PROBLEMS)
def test_status_is_an_error(kind: str) -> None:
    status = HTTPStatus(PROBLEMS[kind].status)
    own_fault = status in (HTTPStatus.INTERNAL_SERVER_ERROR, HTTPStatus.SERVICE_UNAVAILABLE)
    assert 400 <= status < 500 or own_fault
    assert re.fullmatch("[a-z]+(-[a-z]+)*", kind)


def test_titles_differ() -> None:
    assert len({problem.title for problem in PROBLEMS.values()}) == len(PROBLEMS)


def test_server_uses_exactly_these() -> None:
    """A kind in the table that nobody raises is a promise that nobody keeps."""
    files = [*sorted(SERVER.rglob("*.py")), *sorted(MECHANISMS.glob("*.py"))]
    source = "".join(path.read_text() for path in files)
    literals = set(re.findall(r'"([a-z]+(?:-[a-z]+)*)"', source))
    assert set(PROBLEMS) <= literals
    raised = set(re.findall(r'rejected\(\s*"([a-z-]+)"', source))
    assert raised <= set(PROBLEMS)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>Bad gateway</html>",
        b"[1, 2]",
        b"null",
        b'"text"',
        b"\xff\xfe",
        b'{"other": 1}',
        b'{"detail": "\xff"}',
        b'{"type": "\xc3("}',
        b'{"\xed\xa0\x80": 1}',
    ],
)
def test_reads_anything(body: bytes) -> None:
    """A proxy between device and server answers what it likes."""
    found = read_problem(502, body)
    assert isinstance(found, Rejected)
    assert (found.kind, found.status) == ("unknown", 502)
    assert found.detail == "the server answered with status 502"

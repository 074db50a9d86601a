"""Test RFC 9457 problems: stable types, encoded and decoded, without trust in the sender."""

import json
import re
from http import HTTPStatus
from pathlib import Path

import pytest

import crowdml.privacy
import crowdml.server
from crowdml.errors import Rejected
from crowdml.phrase import Phrase, PlainText
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


WORDS = Phrase("{n} samples, found {found}.", n=1200, found=Phrase("none"))


def test_a_phrase_travels_beside_its_english_text() -> None:
    body = problem_document(rejected("too-few-samples", WORDS))
    document = json.loads(body)
    assert document["detail"] == "1,200 samples, found none."
    assert document["template"] == "{n} samples, found {found}."
    assert document["values"] == {"n": 1200, "found": {"template": "none", "values": {}}}
    found = read_problem(422, body)
    assert (found.detail, found.phrase, found.extra.keys() & {"template", "values"}) == (
        "1,200 samples, found none.",
        WORDS,
        set(),
    )


HOSTILE: list[tuple[object, object]] = [
    ("{n} samples", {"n": 3}),
    ("{n.__class__} samples, found none.", {"n": 1200}),
    ("{n:999999999} samples, found none.", {"n": 1200}),
    ("{n} samples, found none.", {"n": "1,200", "more": 1}),
    ("{n} samples, found none.", {"n": [1200]}),
    ("{n} samples, found none.", {"n": True}),
    ("{n} samples, found none.", {"n": 10**40}),
    ("{n} samples, found none.", []),
    ("{n} samples, found none.", None),
    ({"n": 1}, {"n": 1200}),
    ("a" * 20_000, {}),
    (None, {}),
]


@pytest.mark.parametrize(("template", "values"), HOSTILE)
def test_a_template_that_does_not_make_the_detail_is_ignored(
    template: object, values: object
) -> None:
    problem = {"type": "urn:crowdml:problem:fault", "detail": "1,200 samples, found none."}
    body = json.dumps(problem | {"template": template, "values": values}).encode()
    found = read_problem(500, body)
    assert found.detail == str(found.phrase) == "1,200 samples, found none."
    assert isinstance(found.phrase, PlainText)
    assert not found.extra.keys() & {"template", "values"}


def test_a_long_answer_is_no_problem_document() -> None:
    """Check that a long answer is not decoded, because a server could make it large."""
    problem = {"type": "urn:crowdml:problem:revoked", "detail": "no", "more": [[]] * 30_000}
    assert read_problem(403, json.dumps(problem | {"more": []}).encode()).kind == "revoked"
    found = read_problem(403, json.dumps(problem).encode())
    assert (found.kind, found.extra) == ("unknown", {})


def test_nothing_in_a_phrase_steers_a_terminal() -> None:
    sent = rejected("fault", Phrase("found {found}.", found="\x1b[8m\n"))
    found = read_problem(500, problem_document(sent))
    assert found.detail == str(found.phrase) == r"found \x1b[8m\n."


def test_a_plain_detail_has_no_template() -> None:
    document = json.loads(problem_document(rejected("fault", "{n} is not a template.")))
    assert document.keys() == {"type", "title", "status", "detail"}


@pytest.mark.parametrize("kind", PROBLEMS)
def test_status_is_an_error(kind: str) -> None:
    status = HTTPStatus(PROBLEMS[kind].status)
    own_fault = status in (HTTPStatus.INTERNAL_SERVER_ERROR, HTTPStatus.SERVICE_UNAVAILABLE)
    assert 400 <= status < 500 or own_fault
    assert re.fullmatch("[a-z]+(-[a-z]+)*", kind)


def test_titles_differ() -> None:
    assert len({problem.title for problem in PROBLEMS.values()}) == len(PROBLEMS)


def test_server_uses_exactly_these() -> None:
    """Check that every kind in the table is raised, and every raised kind is in the table."""
    files = [*sorted(SERVER.rglob("*.py")), *sorted(MECHANISMS.rglob("*.py"))]
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
    """Check any body, because a proxy between device and server may answer anything."""
    found = read_problem(502, body)
    assert isinstance(found, Rejected)
    assert (found.kind, found.status) == ("unknown", 502)
    assert found.detail == "the server answered with status 502"

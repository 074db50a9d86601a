"""Check any device with a lying server: it sends nothing, loses nothing, and goes on afterwards."""

import base64
import json
import struct
from typing import Any

import pytest
from playwright.sync_api import Error as InPage

from crowdml.errors import CrowdmlError
from crowdml.protocol import terms_hash
from tests.conformance.conftest import Perform, every_device
from tests.conformance.scene import BATCH, SIZE, Stage, problem
from tests.conformance.table import Seen
from tests.device.scripted_server import Answer
from tests.support.servers import make_task

OTHER = make_task(privacy__mechanism="direction").terms.text
REJECTIONS = (CrowdmlError, AssertionError, InPage)


def floats(*values: float) -> str:
    return base64.b64encode(struct.pack(f"<{len(values)}f", *values)).decode()


VIEWS: dict[str, dict[str, Any]] = {
    "wrong hash": {"terms_sha256": terms_hash(OTHER)},
    "no hash": {"terms_sha256": None},
    "no terms": {"terms": None},
    "terms as a table": {"terms": json.loads(OTHER)},
    "terms of another task": {"terms": OTHER, "terms_sha256": terms_hash(OTHER)},
    "surrogates": {"terms": "\ud800"},
    "no title": {"title": 7},
}


@every_device
@pytest.mark.parametrize("view", VIEWS.values(), ids=list(VIEWS))
def test_terms_that_are_not_what_they_say(
    perform: Perform, stage: Stage, device: str, view: dict[str, Any]
) -> None:
    subject = perform(device, stage.scene())
    subject.scene.lies = view
    with pytest.raises(REJECTIONS):
        subject.join()
    assert subject.scene.heard == []
    subject.scene.lies = {}
    subject.join()


@every_device
@pytest.mark.parametrize(
    "enrolled",
    [
        [], {}, {"device": "ana"}, {"device": "ana", "token": 7}, {"device": "", "token": "t"},
        {"device": "a\nb", "token": "t"}, {"device": "a", "token": "t\r\nHost: x"},
        {"device": "\ud800", "token": "t"}, {"device": "a" * 201, "token": "t"},
        {"device": "\x1b[2J", "token": "t"},
    ],
    ids=repr,
)  # fmt: skip
def test_names_that_make_no_sense(
    perform: Perform, stage: Stage, device: str, enrolled: Any
) -> None:
    subject = perform(device, stage.scene())
    subject.scene.says("devices", (201, {}, json.dumps(enrolled).encode()))
    with pytest.raises(REJECTIONS):
        subject.join()
    del subject.scene.raw["devices"]
    subject.join()


OUT: dict[str, dict[str, Any]] = {
    "nan": {"parameters": floats(*[float("nan")] * SIZE)},
    "inf": {"parameters": floats(*[float("inf")] * SIZE)},
    "too short": {"parameters": floats(*[0.0] * (SIZE - 1))},
    "too long": {"parameters": floats(*[0.0] * (SIZE + 1))},
    "cut": {"parameters": floats(*[0.0] * SIZE)[:-2]},
    "no base64": {"parameters": "…" * 64},
    "a list": {"parameters": [0.0] * SIZE},
    "null": {"parameters": None},
    "negative": {"version": -1},
    "true": {"version": True},
    "no number": {"version": "0"},
    "another state": {"state": "hungry"},
    "a state in a list": {"state": ["running"]},
}


@every_device
@pytest.mark.parametrize("out", OUT.values(), ids=list(OUT))
def test_models_that_make_no_sense(
    perform: Perform, stage: Stage, device: str, out: dict[str, Any]
) -> None:
    subject = perform(device, stage.scene())
    subject.join()
    subject.scene.lies = out
    subject.feed(BATCH)
    assert subject.look() == Seen("waiting", BATCH, None, 0)
    subject.scene.lies = {}
    subject.wake()
    assert subject.look() == Seen("collecting", 0, None, 1)


RAW: dict[str, Answer] = {
    "no JSON": (200, {}, b"<html>"),
    "deep": (200, {}, b"[" * 100_000),
    "a huge number": (200, {}, b'{"version": ' + b"9" * 10_000 + b"}"),
    "not UTF-8": (200, {}, b'{"version": 0, "status": "\xff\xfe", "state": "\xff"}'),
    "nothing": (200, {}, b""),
    "nothing new": (304, {}, b""),
    "no content": (204, {}, b""),
    "a redirect": (307, {"Location": "http://127.0.0.1:9/"}, b""),
    "another redirect": (302, {"Location": "/v1/tasks/activity"}, b"{}"),
    "a rejection, a list": (400, {}, b"[]"),
    "a type that is not a text": (400, {}, b'{"type": ["urn:crowdml:problem:revoked"]}'),
    "a rejection, not UTF-8": (418, {}, b'{"type": "\xff"}'),
    "a rejection, nested": (418, {}, b'{"type": ' + b"[" * 5000),
    "a fault, not UTF-8": (500, {}, b'{"type": "\xff"}'),
    "a fault": (500, {}, b'{"type": "urn:crowdml:problem:invalid-request"}'),
    "a fault that revokes": (502, {}, b'{"type": "urn:crowdml:problem:revoked"}'),
    "huge": (200, {}, b" " * (33 * 2**20) + b'{"version": 1, "status": "applied"}'),
    "another status": (200, {}, b'{"version": 1, "status": "whatever"}'),
    "a status in a list": (200, {}, b'{"version": 1, "status": ["applied"]}'),
    **{  # type: ignore[var-annotated]
        f"retry_after {str(wait)[:9]}": problem("too-frequent", 429, retry_after=wait)
        for wait in (-5, "soon", None, [], True, 10**400, float("nan"))
    },
}


@every_device
@pytest.mark.parametrize("raw", RAW.values(), ids=list(RAW))
@pytest.mark.parametrize("where", ["model", "checkins"])
def test_answers_that_make_no_sense(
    perform: Perform, stage: Stage, device: str, raw: Answer, where: str
) -> None:
    """Check that samples wait if they were not sent, and that otherwise the same bytes are sent."""
    subject = perform(device, stage.scene())
    scene = subject.scene
    subject.join()
    status, headers, body = raw
    scene.says(where, (status, {"Crowdml-Terms": terms_hash(scene.terms)} | headers, body))
    subject.feed(BATCH)
    sent = [heard.body for heard in scene.heard if heard.what == "check-in"]
    expected = (0, sent[0], 1) if where == "checkins" else (BATCH, None, 0)
    assert subject.look() == Seen("waiting", *expected)
    del scene.raw[where]
    subject.wake()
    assert subject.look() == Seen("collecting", 0, None, 1)
    bodies = [heard.body for heard in scene.heard if heard.what == "check-in"]
    assert len(set(bodies)) == 1


@every_device
def test_no_server_holds_a_device_for_more_than_an_hour(
    perform: Perform, stage: Stage, device: str
) -> None:
    subject = perform(device, stage.scene())
    subject.join()
    subject.scene.says("checkins", problem("too-frequent", 429, retry_after=1e300))
    subject.feed(BATCH)
    assert 3599 < subject.wait() <= 3600


@every_device
@pytest.mark.parametrize("answer", [None, problem("fault", 500), problem("unauthorized", 401)])
def test_leaving_needs_no_server(
    perform: Perform, stage: Stage, device: str, answer: Answer | None
) -> None:
    subject = perform(device, stage.scene())
    subject.join()
    subject.scene.says("me", answer)
    subject.feed(1)
    subject.leave()
    assert subject.look() == Seen("left", 0, None, 0)

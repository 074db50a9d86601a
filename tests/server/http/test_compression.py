"""Test answers in the requested coding, with the same bytes inside."""

import gzip
import time

import brotli
import pytest

from crowdml.server.content_coding import best_coding
from tests.support.servers import HttpClient, Reply, enrol

DECODE = {"br": brotli.decompress, "gzip": gzip.decompress, "": lambda body: body}


def get(wire: HttpClient, path: str, coding: str, token: str | None = None) -> Reply:
    return wire.call("GET", path, token=token, headers={"Accept-Encoding": coding})


@pytest.mark.parametrize("coding", ["br", "gzip", ""])
def test_the_model_in_any_coding(wire: HttpClient, coding: str) -> None:
    token = enrol(wire, "other")
    reply = get(wire, "/v1/tasks/other/model", coding, token)
    assert reply.headers.get("content-encoding", "") == coding
    plain = wire.get("/v1/tasks/other/model", token)
    assert DECODE[coding](reply.body) == plain.body
    assert "content-encoding" not in plain.headers
    assert reply.headers["etag"] == plain.headers["etag"]
    known = {"Accept-Encoding": coding, "If-None-Match": reply.headers["etag"]}
    again = wire.call("GET", "/v1/tasks/other/model", None, token, known)
    assert (again.status, again.body) == (304, b"")


@pytest.mark.parametrize("path", ["/v1/tasks", "/v1/openapi.json", "/v1/tasks/other"])
def test_lists_and_documents(wire: HttpClient, path: str) -> None:
    plain = get(wire, path, "identity")
    assert "content-encoding" not in plain.headers
    for coding, decode in DECODE.items():
        reply = get(wire, path, coding)
        assert decode(reply.body) == plain.body
        assert int(reply.headers["content-length"]) == len(reply.body)
        if coding:
            assert reply.headers["vary"] == "Accept-Encoding"
            assert len(reply.body) < len(plain.body) / 2


def test_small_and_rejected_answers_stay_uncompressed(wire: HttpClient) -> None:
    for path in ("/healthz", "/v1/tasks/unknown"):
        assert "content-encoding" not in get(wire, path, "br, gzip").headers


def test_events_come_one_by_one(wire: HttpClient) -> None:
    wire._connection.request("GET", "/v1/tasks/still/events", headers={"Accept-Encoding": "br"})
    response = wire._connection.getresponse()
    assert response.getheader("content-encoding") is None
    began = time.monotonic()
    assert response.readline() == b"event: statistics\n"
    assert time.monotonic() - began < 5
    wire.close()


@pytest.mark.parametrize(
    ("accepted", "coding"),
    [("br", "br"), ("gzip", "gzip"), ("gzip, br", "br"), ("br;q=0, gzip", "gzip"), ("GZIP", "gzip"),
     ("deflate", ""), ("brotli", ""), ("*", ""), ("gzip;q=0", ""), (",,;;", "")],
)  # fmt: skip
def test_what_is_asked_for(accepted: str, coding: str) -> None:
    assert best_coding(accepted) == coding

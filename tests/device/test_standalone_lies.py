"""Servers that lie to the one file: it says so, tells nothing, and loses nothing."""

import base64
import json
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from crowdml.protocol import terms_hash
from tests.device.alone import Alone, line
from tests.device.puppet import Answer, Puppet, serving
from tests.servers import make_task

TERMS = make_task(privacy__mechanism="direction", privacy__epsilon=4.0).terms.text
SIZE = 12
OTHER = TERMS.replace('"epsilon": 4.0', '"epsilon": 40.0')


def floats(*values: float) -> str:
    return base64.b64encode(struct.pack(f"<{len(values)}f", *values)).decode()


class Liar(Puppet):
    """A server of a direction task; a test changes what it says."""

    def __init__(self) -> None:
        super().__init__()
        self.terms = TERMS
        self.view: dict[str, Any] = {"title": "Activity", "objective": "to learn"}
        self.enrolled: dict[str, Any] = {"device": "ana", "token": "secret"}
        self.out: dict[str, Any] = {
            "version": 0,
            "state": "running",
            "parameters": floats(*[0] * 12),
        }
        self.header = terms_hash(TERMS)
        self.raw: dict[str, Answer] = {}
        self.tokens: list[str | None] = []

    def answer(self, method: str, path: str, body: bytes) -> Answer:
        last = path.rpartition("/")[2]
        if last in self.raw:
            return self.raw[last]
        if last == "checkins":
            self.checkins.append(body)
            return self.checkin
        if last == "devices":
            return 201, {}, json.dumps(self.enrolled).encode()
        if last == "model":
            return 200, {"Crowdml-Terms": self.header}, json.dumps(self.out).encode()
        named = {"terms": self.terms, "terms_sha256": terms_hash(self.terms)}
        return 200, {}, json.dumps(named | self.view).encode()


@pytest.fixture
def liar() -> Liar:
    return Liar()


@pytest.fixture
def url(liar: Liar) -> Iterator[str]:
    with serving(liar) as url:
        yield f"{url}/join/activity"


@pytest.fixture
def alone(tmp_path: Path) -> Alone:
    return Alone(tmp_path)


def samples(n: int = 3) -> list[str]:
    rng = np.random.default_rng(7)
    return [line(rng.normal(size=4), "walk") for _ in range(n)]


def sound(stderr: str) -> bool:
    """One sentence, with nothing in it that a terminal obeys."""
    return "Traceback" not in stderr and stderr.replace("\n", "").isprintable()


def test_an_honest_one_is_served(alone: Alone, liar: Liar, url: str) -> None:
    assert alone.join(url).returncode == 0
    ran = alone.feed(*samples())
    assert (ran.returncode, ran.stderr) == (0, "")
    (body,) = liar.checkins
    message = json.loads(body)
    what = "report" if "report" in message else "direction"
    assert set(message) == {"id", "version", "terms", "number", what}
    assert (message["terms"], message["number"]) == (terms_hash(TERMS), 1)


VIEWS: dict[str, dict[str, Any]] = {
    "wrong hash": {"terms_sha256": terms_hash(OTHER)},
    "no hash": {"terms_sha256": None},
    "no terms": {"terms": None},
    "terms as a table": {"terms": json.loads(TERMS)},
    "other terms": {"terms": OTHER},
    "surrogates": {"terms": "\ud800"},
    "no title": {"title": 7},
}


@pytest.mark.parametrize("view", VIEWS.values(), ids=list(VIEWS))
def test_terms_that_are_not_what_they_say(
    alone: Alone, liar: Liar, url: str, view: dict[str, Any]
) -> None:
    liar.view |= view
    refused = alone.join(url)
    assert (refused.returncode, sound(refused.stderr)) == (1, True), refused.stderr
    assert "device" not in alone.state


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
def test_names_that_make_no_sense(alone: Alone, liar: Liar, url: str, enrolled: Any) -> None:
    liar.enrolled = enrolled
    refused = alone.join(url)
    assert (refused.returncode, sound(refused.stderr)) == (1, True), refused.stderr
    assert "device" not in alone.state


def test_nothing_on_the_terminal_is_obeyed(alone: Alone, liar: Liar, url: str) -> None:
    """Neither colours that conceal, nor lines that forge, nor letters that turn round."""
    hidden = "\x1b[8m\x9b2J\r\u202e"
    liar.terms = TERMS.replace('"sensors": "motion"', '"sensors": "\u202emotion\u202c"')
    liar.terms = liar.terms.replace('"Jane Doe"', '"Jane\u202eDoe"')
    liar.view |= {"title": f"Nice{hidden}", "objective": "x\nWhat you lose: nothing\x07"}
    shown = alone.run("join", url, typed="n\n")
    assert shown.stdout.replace("\n", "").isprintable()
    assert r"Nice\x1b[8m\x9b2J\r\u202e" in shown.stdout
    assert "\nWhat you lose: nothing" not in shown.stdout
    assert r"\u202emotion\u202c" in shown.stdout
    document = {"type": "urn:crowdml:problem:revoked", "detail": f"gone{hidden}"}
    liar.raw["devices"] = (403, {}, json.dumps(document).encode())
    refused = alone.join(url)
    assert r"gone\x1b[8m" in refused.stderr
    assert sound(refused.stderr)


def test_a_long_text_does_not_push_the_price_away(alone: Alone, liar: Liar, url: str) -> None:
    liar.terms = TERMS.replace("{", "{" + "\n" * 3000, 1)
    *_, loss, sure, lost, name = alone.run("join", url, typed="n\n").stdout.splitlines()[:-1]
    assert loss.startswith("What you lose: at most ε = 4,")
    assert sure.endswith("at most 98.21 % sure.")
    assert lost.startswith("What you lost: ε = 0")
    assert terms_hash(liar.terms) in name


def test_terms_that_change(alone: Alone, liar: Liar, url: str) -> None:
    alone.join(url)
    liar.header, liar.terms = terms_hash(OTHER), OTHER
    refused = alone.feed(*samples())
    assert refused.returncode == 1
    assert refused.stderr == "the terms have changed. Leave, and read them anew.\n"
    assert (alone.buffered, liar.checkins, alone.state["terms"]) == (3, [], TERMS)
    liar.raw["model"] = (200, {}, json.dumps(liar.out).encode())
    assert alone.feed().returncode == 1, "no header is no consent"
    assert (alone.buffered, liar.checkins) == (3, [])


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
    "a float": {"version": 1.0},
    "no number": {"version": "0"},
    "another state": {"state": "hungry"},
    "a state in a list": {"state": ["running"]},
}


@pytest.mark.parametrize("out", OUT.values(), ids=list(OUT))
def test_models_that_make_no_sense(alone: Alone, liar: Liar, url: str, out: dict[str, Any]) -> None:
    alone.join(url)
    liar.out |= out
    refused = alone.feed(*samples())
    assert refused.returncode == 1
    assert "the model makes no sense" in refused.stderr
    assert sound(refused.stderr)
    assert (alone.buffered, liar.checkins, alone.state["ledger"]) == (3, [], [])


RAW: dict[str, Answer] = {
    "no JSON": (200, {}, b"<html>"),
    "deep": (200, {}, b"[" * 100_000),
    "a huge number": (200, {}, b'{"version": ' + b"9" * 10_000 + b"}"),
    "nothing": (200, {}, b""),
    "a redirect": (307, {"Location": "http://127.0.0.1:9/"}, b""),
    "another redirect": (302, {"Location": "/v1/tasks/activity"}, b"{}"),
    "a page that refuses": (403, {}, b"<html>log in</html>"),
    "a list that refuses": (400, {}, b"[]"),
    "a fault": (500, {}, b'{"type": "urn:crowdml:problem:invalid-request"}'),
    "huge": (200, {}, b" " * (9 * 2**20) + b'{"version": 1, "status": "applied"}'),
    "another status": (200, {}, b'{"version": 1, "status": "whatever"}'),
    "a status in a list": (200, {}, b'{"version": 1, "status": ["applied"]}'),
}


@pytest.mark.parametrize("raw", RAW.values(), ids=list(RAW))
@pytest.mark.parametrize("where", ["model", "checkins"])
def test_answers_that_make_no_sense(
    alone: Alone, liar: Liar, url: str, raw: Answer, where: str
) -> None:
    """Nothing is lost: samples wait before they were told, the same bytes afterwards."""
    alone.join(url)
    status, headers, body = raw
    liar.raw[where] = (status, {"Crowdml-Terms": liar.header} | headers, body)
    refused = alone.feed(*samples())
    assert (refused.returncode, sound(refused.stderr)) == (1, True), refused.stderr
    outbox = alone.state["outbox"]
    assert (alone.buffered == 3) == (outbox is None) == (where == "model")
    del liar.raw[where]
    assert alone.feed().returncode == 0
    (sent,) = liar.checkins
    assert outbox in (None, sent.decode())
    assert len(alone.state["ledger"]) == 1


def problem(kind: str, status: int, **more: Any) -> Answer:
    document = {"type": f"urn:crowdml:problem:{kind}", "detail": f"it is {kind}", **more}
    return status, {}, json.dumps(document).encode()


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        ("stale-version", 409), ("implausible", 422), ("repeated-number", 409),
        ("wrong-role", 422), ("too-many-checkins", 409), ("invalid-request", 400),
        ("terms-changed", 409), ("revoked", 403), ("unauthorized", 401), ("task-finished", 409),
    ],
)  # fmt: skip
def test_refusals_that_drop_the_letter(
    alone: Alone, liar: Liar, url: str, kind: str, status: int
) -> None:
    """What was refused has been told all the same: its cost stays."""
    alone.join(url)
    liar.checkin = problem(kind, status)
    ran = alone.feed(*samples())
    goes_on = kind in ("stale-version", "implausible", "repeated-number")
    assert ran.returncode == (0 if goes_on else 1)
    assert goes_on or f"it is {kind}" in ran.stderr
    (entry,) = alone.state["ledger"]
    assert (entry["answer"], entry["epsilon"]) == (f"refused, {kind}", 4.0)
    assert (alone.state["outbox"], alone.buffered, len(liar.checkins)) == (None, 0, 1)


@pytest.mark.parametrize(
    ("kind", "status", "patience"),
    [
        ("task-paused", 409, None), ("not-found", 404, None), ("unavailable", 503, 30),
        ("too-frequent", 429, 1e308), ("too-frequent", 429, -5), ("too-frequent", 429, "soon"),
    ],
)  # fmt: skip
def test_refusals_that_keep_the_letter(
    alone: Alone, liar: Liar, url: str, kind: str, status: int, patience: Any
) -> None:
    alone.join(url)
    liar.checkin = problem(kind, status, retry_after=patience)
    assert alone.feed(*samples()).returncode == 1
    assert alone.feed().returncode == 1
    first, second = liar.checkins
    assert first == second == alone.state["outbox"].encode()
    assert len(alone.state["ledger"]) == 1


def test_it_tries_again_by_itself(alone: Alone, liar: Liar, url: str) -> None:
    alone.join(url)
    answers = iter([problem("too-frequent", 429, retry_after=0.1), liar.checkin])
    checkin = Liar.answer

    def once(method: str, path: str, body: bytes) -> Answer:
        if path.endswith("/checkins"):
            liar.checkin = next(answers)
        return checkin(liar, method, path, body)

    liar.answer = once  # type: ignore[method-assign]
    ran = alone.feed(*samples(), wait=60)
    assert ran.returncode == 0, ran.stderr
    first, second = liar.checkins
    assert first == second


@pytest.mark.parametrize(
    ("state", "said"),
    [("reached", "task is reached"), ("stopped", "task is stopped"), ("paused", "task is paused")],
)
def test_a_task_that_does_not_run(
    alone: Alone, liar: Liar, url: str, state: str, said: str
) -> None:
    alone.join(url)
    liar.out["state"] = state
    assert said in alone.feed(*samples()).stderr
    assert (alone.buffered, liar.checkins) == (3, [])


def test_leaving_without_the_server(alone: Alone, liar: Liar, url: str) -> None:
    alone.join(url)
    liar.raw["me"] = problem("fault", 500)
    left = alone.run("leave")
    assert left.returncode == 0
    assert left.stderr.startswith("The server was not told")
    assert list(alone.state) == ["ledger"]

"""Check that docs/protocol.md describes every route, field, problem and example of the code."""

import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import msgspec
import pytest

from crowdml import one_file_device as standalone
from crowdml.models import MODELS
from crowdml.privacy import (
    CheckinKey,
    Choice,
    Codebook,
    DirectionMechanism,
    DirectionPayload,
    Role,
    Roles,
)
from crowdml.protocol import PROBLEMS, TERMS_HEADER, State, Terms, terms_hash
from crowdml.protocol.features.sensor import Sensor
from crowdml.protocol.mechanisms import MECHANISMS
from crowdml.protocol.mechanisms.direction import DirectionTerms
from crowdml.protocol.mechanisms.noise_terms import GaussianTerms, LaplaceTerms
from crowdml.protocol.start import StartTerms
from crowdml.server.http.routes import ROUTES
from tests.docs.pages import blocks, inline, page, table_rows
from tests.support.checkins import DirectionCheckin, NoiseCheckin
from tests.support.servers import make_task

PROTOCOL = page("docs/protocol.md")


def test_every_problem_with_its_status() -> None:
    found: dict[str, str] = {}
    for cells in table_rows(PROTOCOL.partition("## 8.")[2]):
        found |= dict.fromkeys(re.findall(r"`([a-z-]+)`", cells[0]), cells[1])
    assert set(found) == set(PROBLEMS)
    for kind, problem in PROBLEMS.items():
        assert str(problem.status) in found[kind].split(", "), kind


WORDS = {
    "kept": "tries again later",
    "kept as long as the server says": "tries again after `retry_after` seconds, at most an hour",
    "kept for the pause": "tries again later",
    "dropped": "goes on with the next minibatch, after a while",
    "dropped as a copy": "charges the other check-in and stops",
    "dropped for other terms": "sends nothing until the participant agrees",
    "dropped as one too many": "stops for good",
    "dropped at the task's end": "stops until it is started again",
    "dropped for good": "stops for good",
}
"""The words of the page for each row of the table of behaviour."""


def test_every_problem_with_what_a_device_does() -> None:
    table = json.loads(page("tests/vectors/behaviour.json"))
    expected = {
        kind: (row["outbox"] == "new", WORDS[name.removeprefix("new bytes, ")])
        for name, kinds in table["cells"]["collecting"].items()
        for row in [table["rows"][name]]
        for kind in set(kinds) & set(PROBLEMS)
    }
    found: dict[str, tuple[bool, str]] = {}
    for kinds, _, message, device in table_rows(PROTOCOL.partition("## 8.")[2])[1:]:
        does = (message == "keep", re.split("[:;]", device)[0])
        found |= dict.fromkeys(re.findall(r"`([a-z-]+)`", kinds), does)
    assert found == expected


@pytest.mark.parametrize(
    ("kind", "mechanism"), [(DirectionCheckin, "direction"), (NoiseCheckin, "laplace")]
)
def test_every_field_of_a_checkin(kind: type[msgspec.Struct], mechanism: str) -> None:
    section = PROTOCOL.partition("## 7.")[2].partition("## 8.")[0]
    rows = {cells[0].strip("`"): cells[1] for cells in table_rows(section)[1:]}
    own = {name for name, whose in rows.items() if whose == "all" or mechanism in whose}
    assert own == set(kind.__struct_fields__)
    assert set(rows) == {*DirectionCheckin.__struct_fields__, *NoiseCheckin.__struct_fields__}


@pytest.mark.parametrize("path", sorted(route.path for route in ROUTES))
def test_every_route(path: str) -> None:
    """Find the route by its whole address or, for a GET, by the last part of it."""
    (route,) = (route for route in ROUTES if route.path == path)
    method = next(iter((route.methods or {"GET"}) - {"HEAD"}))
    named = [text.partition("?")[0] for text in inline(PROTOCOL)]
    allowed = {f"{method} {path}"}
    if method == "GET":
        allowed |= {path, "/" + path.rpartition("/")[2]}
    assert allowed & set(named)


def test_no_route_is_invented() -> None:
    paths = {route.path for route in ROUTES}
    routes = re.findall(r"(?:GET|POST|PUT|PATCH|DELETE) (/[^\s`?]*)", PROTOCOL)
    assert routes
    assert set(routes) <= paths


# The terms


def test_the_terms_as_they_are_shown() -> None:
    (block,) = blocks(PROTOCOL, "json")
    shown = json.loads(block)
    assert Terms.parse(block).private
    assert standalone.Terms(block, "activity").total == 4.0
    assert _keys(shown) == _keys(json.loads(make_task(privacy__mechanism="direction").terms.text))
    (steps, slots) = re.findall(r"steps is ([\d,]+), and n is (\d+)", PROTOCOL)[0]
    assert Terms.parse(block).slots == int(slots) == -(-int(steps.replace(",", "")) // 100_000)


def _keys(document: object) -> object:
    if isinstance(document, dict):
        return {key: _keys(value) for key, value in document.items()}
    return None


def in_cells(kind: Any) -> tuple[str, str]:
    """Return the type and the range of a field, as the tables write them."""
    kind, meta = get_args(kind)[:2] if get_origin(kind) is Annotated else (kind, msgspec.Meta())
    parts = get_args(kind)
    if get_origin(kind) in (Union, UnionType):
        (first, *others) = [part for part in parts if part is not NoneType]
        what, within = in_cells(first)
        infinite = ' or `"inf"`' if others else ""
        return f"{what}{infinite}{' or null' * (NoneType in parts)}", within
    if get_origin(kind) is Literal:
        return "word", ", ".join(f"`{part}`" for part in parts)
    if meta.extra and meta.extra.get("names") is MODELS:
        return "word", ", ".join(f"`{name}`" for name in MODELS)
    if get_origin(kind) is tuple:
        what, within = in_cells(parts[0])
        return "list", f"0 … {meta.max_length:,} {what}s of {within}"
    if kind is str:
        return "text", f"{meta.min_length or 0} … {meta.max_length or 0:,} characters"
    if kind is bool:
        return "true or false", ""
    if kind is int:
        return "whole number", f"{meta.ge:,} … {meta.le:,}"
    return "number", f"{_short(meta.ge)} … {_short(meta.le)}"


def _short(value: float | None) -> str:
    return re.sub(r"e([+-])0?", lambda found: "e" + found[1].strip("+"), f"{value:g}")


def fields(kind: Any, inside: str = "") -> Iterator[tuple[str, tuple[str, str]]]:
    for field in msgspec.structs.fields(kind):
        name = inside + field.name
        if isinstance(field.type, type) and issubclass(field.type, msgspec.Struct):
            yield from fields(field.type, f"{name}.")
        elif name == "task":
            yield name, ("text", "as in the address")
        elif name == "sha256":
            yield name, ("text", "64 lower-case hexadecimal digits")
        elif name in ("privacy", "features.sensor", "model.start"):
            yield name, ("table or null" if "." in name else "table", "as below")
        else:
            yield name, in_cells(field.type)


TERMS, START, PRIVACY, SENSOR = (
    table_rows(text)
    for text in re.split(
        r"A start has|A model has|A\s+device\s+that\s+takes",
        PROTOCOL.partition("## 1.")[2].partition("## 2.")[0],
    )
)


def cells_of(rows: list[list[str]]) -> list[tuple[str, tuple[str, str]]]:
    return [(name.strip("`"), (what, within)) for name, what, within, _ in rows]


def test_every_field_of_the_terms() -> None:
    assert cells_of(TERMS[1:]) == list(fields(Terms))
    assert cells_of(START[1:]) == list(fields(StartTerms))
    assert cells_of(SENSOR[1:]) == list(fields(Sensor))


def test_every_field_of_every_mechanism() -> None:
    expected: list[tuple[str, tuple[str, str]]] = []
    for kind in (DirectionTerms, LaplaceTerms, GaussianTerms):
        expected += [(str(kind.__struct_config__.tag), ("", "")), *fields(kind)]
    assert cells_of(PRIVACY[1:]) == expected
    assert len(MECHANISMS) == 3


# The example of keys, codewords, roles and coins


def shown(name: str) -> str:
    (block,) = blocks(PROTOCOL, "text")
    (found,) = re.findall(rf"^{re.escape(name)}  +(.*)$", block, re.MULTILINE)
    return str(found)


KEY = CheckinKey(shown("terms hash"), shown("device"), int(shown("number")))


def test_the_example_of_a_codeword() -> None:
    assert KEY.terms_sha256 == terms_hash("{}")
    text = "\n".join(map(str, KEY))
    digest = hashlib.sha256(text.encode()).digest()
    assert shown("SHA-256") == digest.hex()
    keys = [int.from_bytes(digest[at : at + 4], "little") for at in (0, 4)]
    assert shown("keys") == " ".join(f"0x{key:08x}" for key in keys)
    d, r = map(int, re.findall(r"\d+", shown("d")))
    assert r == -(-d // 4)
    numbers: list[int] = []
    for word in (7 * r, 7 * r + 1):
        found = re.fullmatch(r"0x(.{8}), bytes (.*), numbers (.*)", shown(f"word {word}"))
        assert found is not None
        mixed = int(found[1], 16)
        assert bytes.fromhex(found[2]) == mixed.to_bytes(4, "little")
        numbers += map(int, found[3].split())
    whole = Codebook(4 * r, KEY).codeword(7).tolist()
    assert numbers == whole
    v = [int(number) for number in shown("v_7").split()]
    assert v == numbers[:d] == Codebook(d, KEY).codeword(7).tolist()
    assert v == list(standalone.codebook(text, d, 8))[7]


def test_the_examples_of_roles() -> None:
    """Check one example for each role."""
    assert {example_of_a_role(name) for name in ROLES} == set(Role)


ROLES = {"role": KEY.number, "role of 13": 13, "role of 16": 16}


def example_of_a_role(name: str) -> Role:
    shares = r"with evaluators (.*) and counters (.*)"
    pattern = rf"bytes (.*), (\d+) of 4294967296: {shares} it (trains|evaluates|counts)"
    found = re.fullmatch(pattern, shown(name))
    assert found is not None
    key = KEY._replace(number=ROLES[name])
    text = "\n".join(map(str, key)) + "\nrole"
    drawn = hashlib.sha256(text.encode()).digest()[:4]
    assert bytes.fromhex(found[1]) == drawn
    assert int(found[2]) == int.from_bytes(drawn, "little")
    role = Roles(float(found[3]), float(found[4])).role_of(key)
    assert found[5] == f"{role}s"
    return role


def test_the_examples_of_a_coin() -> None:
    (block,) = blocks(PROTOCOL, "text")
    coins = re.findall(r"^coin +(\d+) for k = (\d+), t = (\d+), epsilon (\d+)$", block, re.M)
    assert len(coins) == 3
    for coin, k, t, epsilon in coins:
        assert abs(Choice(int(k), int(t), float(epsilon)).coin - int(coin)) <= 2**11


def test_the_example_of_a_reading() -> None:
    """Compare what the server reads from each number at ε = 4, to the last digit shown."""
    mechanism = DirectionMechanism(4.0, 1024, 67, size=5, n_classes=3)
    for role, field in ((Role.EVALUATE, "wrong"), (Role.COUNT, "answer")):
        choice = mechanism.choice_of(role)
        said = f"P = {choice.likely:.4f} and Q = {choice.unlikely:.4f} for `{field}`"
        assert said in PROTOCOL.replace("\n", " ")
    wrong, right = (mechanism.read(DirectionPayload(1, wrong=n), KEY).errors for n in (1, 0))
    assert f"1 is read as {wrong:.3f} errors, and 0 as {right:.3f}".replace("-", "−") in PROTOCOL
    sent, other, _ = mechanism.read(DirectionPayload(1, answer=0), KEY).labels
    said = f"is read as {sent:.3f} samples, and each other one as {other:.3f}".replace("-", "−")
    assert said in PROTOCOL.replace("\n", " ")
    for epsilon in (1.0, 4.0):
        variance = DirectionMechanism(epsilon, 1024, 67, size=5).error_variance
        assert f"{variance:.2g} at ε₁ = {epsilon:g}" in PROTOCOL.replace("\n", " ")


def test_the_constants_of_the_mixing() -> None:
    source = Path(standalone.__file__).read_text(encoding="utf-8")
    for constant in ("0x7FEB352D", "0x846CA68B"):
        assert constant in PROTOCOL
        assert constant in source


# States and the header


def test_every_state_and_the_header() -> None:
    for state in State:
        assert state is State.RUNNING or f"`{state}`" in PROTOCOL
    assert f"`{TERMS_HEADER}`" in PROTOCOL

"""Test messages: strict from devices, extensible from the server, no raw samples in either."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crowdml.protocol import CheckinAnswer, Checkout, Enrol, State
from tests.support.checkins import NoiseCheckin

GOOD: dict[str, Any] = {
    "id": "AbC-_0123456789x",
    "version": 7,
    "terms": "0" * 64,
    "samples": 20,
    "heldout": 2,
    "errors": -3,
    "labels": [1, -2, 30],
    "grid": -23,
    "gradient": "AQAAAP7///8=",
}

counts = st.integers(-(2**31) + 1, 2**31 - 1)
checkins = st.builds(
    NoiseCheckin,
    id=st.from_regex(r"\A[A-Za-z0-9_-]{16,64}\Z"),
    version=st.integers(0, 2**53),
    terms=st.from_regex(r"\A[0-9a-f]{64}\Z"),
    samples=st.integers(1, 1_000_000),
    heldout=st.integers(0, 1_000_000),
    errors=counts,
    labels=st.lists(counts, max_size=5).map(tuple),
    grid=st.integers(-1000, 1000),
    gradient=st.binary(max_size=64),
)


@settings(deadline=None)
@given(checkins)
def test_checkin_round_trip(checkin: NoiseCheckin) -> None:
    data = msgspec.json.encode(checkin)
    assert msgspec.json.decode(data, type=NoiseCheckin) == checkin
    assert set(json.loads(data)) == set(GOOD)


@settings(deadline=None)
@given(st.integers(0, 2**53), st.sampled_from(State), st.binary(max_size=64))
def test_checkout_round_trip(version: int, state: State, parameters: bytes) -> None:
    checkout = Checkout(version, state, parameters)
    assert msgspec.json.decode(msgspec.json.encode(checkout), type=Checkout) == checkout


def test_good_checkin() -> None:
    checkin = msgspec.convert(GOOD, NoiseCheckin)
    assert checkin.gradient == b"\x01\0\0\0\xfe\xff\xff\xff"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("id", "a" * 16 + "\n"),
        ("id", "\n" + "a" * 16),
        ("id", "a" * 16 + "\n" + "a" * 16),
        ("id", "../../../../etc/p"),
        ("terms", "0" * 64 + "\n"),
        ("terms", "0" * 64 + "\r"),
        ("labels", [0] * 1001),
        ("samples_raw", [[0.1, 0.2]]),
    ],
)
def test_rejects(name: str, value: Any) -> None:
    """Check one wrong value; `tests/server/http/test_bad_input.py` sends all others to a server."""
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(json.dumps({**GOOD, name: value}), type=NoiseCheckin)


def test_enrol_rejects_unknown_fields_and_answers_may_grow() -> None:
    with pytest.raises(msgspec.ValidationError, match="unknown field `name`"):
        msgspec.json.decode('{"terms": "", "name": "Ada"}', type=Enrol)
    answer = msgspec.json.decode(
        '{"version": 3, "status": "applied", "hint": 1}', type=CheckinAnswer
    )
    assert answer == CheckinAnswer(3, "applied")


def test_final_states() -> None:
    assert {state.value for state in State if state.final} == {"reached", "exhausted", "stopped"}
    assert not State.RUNNING.final
    assert not State.PAUSED.final

"""Test the public rule that decides who trains, who evaluates and who counts."""

import hashlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crowdml.errors import InvalidInput
from crowdml.privacy import ALL_TRAIN, CheckinKey, Role, Roles

TERMS = "5e" * 32
NAMES = [f"device-{i}" for i in range(20_000)]
USUAL = Roles(evaluators=0.15, counters=0.05)
FIRST = ["device-1", "device-0", "device-17"]
"""The first device that trains, the first that evaluates and the first that counts."""


def drawn(roles: Roles, number: int = 1, terms: str = TERMS) -> list[Role]:
    return [roles.role_of(CheckinKey(terms, name, number)) for name in NAMES]


@pytest.mark.parametrize(
    "roles", [USUAL, ALL_TRAIN, Roles(0.9), Roles(0.0, 0.9), Roles(0.45, 0.45), Roles(0.0, 0.2)]
)
def test_the_shares_are_kept(roles: Roles) -> None:
    """Check the shares of fixed names, so that nothing is random."""
    found = drawn(roles)
    for role in Role:
        share = roles.share(role)
        assert found.count(role) / len(found) == pytest.approx(share, abs=0.01)
        assert share or role not in found
    assert sum(roles.share(role) for role in Role) == pytest.approx(1.0)


def test_other_numbers_and_terms_are_drawn_again() -> None:
    """Check that one role of a device does not predict the next one."""
    mine = np.array(drawn(USUAL))
    agreeing = sum(USUAL.share(role) ** 2 for role in Role)
    for other in (drawn(USUAL, number=2), drawn(USUAL, terms="")):
        assert np.mean(mine == np.array(other)) == pytest.approx(agreeing, abs=0.02)
        for role in Role:
            same = np.mean(np.array(other)[mine == role] == role)
            assert same == pytest.approx(USUAL.share(role), abs=0.03)


@given(
    terms=st.text(max_size=9),
    device=st.text(max_size=9),
    number=st.integers(1, 10**6),
    evaluators=st.floats(0, 0.45),
    counters=st.floats(0, 0.45),
)
def test_the_rule_is_a_hash_of_public_words(
    terms: str, device: str, number: int, evaluators: float, counters: float
) -> None:
    """Compare with the definition in docs/protocol.md: first evaluators, then counters."""
    text = "\n".join((terms, device, str(number), "role"))
    draw = int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "little") / 2**32
    if draw < evaluators:
        expected = Role.EVALUATE
    elif draw < evaluators + counters:
        expected = Role.COUNT
    else:
        expected = Role.TRAIN
    assert Roles(evaluators, counters).role_of(CheckinKey(terms, device, number)) is expected


def test_the_first_of_each_role_is_fixed() -> None:
    """Check fixed roles.

    A change of the rule would make devices and servers disagree.
    """
    found = drawn(USUAL)
    assert [NAMES[found.index(role)] for role in Role] == FIRST


def test_more_counters_change_nobody_from_evaluating() -> None:
    few, many = drawn(USUAL), drawn(Roles(0.15, 0.5))
    for before, after in zip(few, many, strict=True):
        assert after is before or (before, after) == (Role.TRAIN, Role.COUNT)


@pytest.mark.parametrize("shares", [(0.9, 0.0), (0.0, 0.9), (0.8, 0.1), (0.6, 0.3), (0.0, 0.0)])
def test_nine_in_ten_may_do_something_else(shares: tuple[float, float]) -> None:
    assert Roles(*shares).share(Role.TRAIN) >= 0.1 - 1e-9


@pytest.mark.parametrize(
    "shares",
    [(0.91, 0.0), (0.0, 0.91), (0.5, 0.41), (-0.1, 0.5), (0.5, -0.1), (float("nan"), 0.0)],
)
def test_shares_that_are_none(shares: tuple[float, float]) -> None:
    with pytest.raises(InvalidInput, match=r"shares that add up to at most 0\.9, found"):
        Roles(*shares)


def test_where_a_role_begins() -> None:
    """Check that a draw below the share has the role, and a draw at the share does not."""
    key = CheckinKey(TERMS, FIRST[1], 1)
    word, draw = 2**32, key.draw("role")
    assert draw < 0.9 * word
    at, above = draw / word, (draw + 1) / word
    assert [Roles(share).role_of(key) for share in (at, above)] == [Role.TRAIN, Role.EVALUATE]
    assert [Roles(0.0, share).role_of(key) for share in (at, above)] == [Role.TRAIN, Role.COUNT]

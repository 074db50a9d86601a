"""Test the participant's account: append-only, private, and never behind what was sent."""

import sqlite3
import stat
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import msgspec
import numpy as np
import pytest

from crowdml.device.identity import Identity
from crowdml.device.storage.account import Account, AccountEntry, AccountStatement, Trail
from crowdml.device.storage.store import DeviceStore, WrittenCheckin
from crowdml.errors import InvalidInput
from crowdml.privacy import (
    DirectionEvent,
    Ledger,
    Limits,
    MinibatchPart,
    NoiseEvent,
    Release,
    Role,
    epsilon_of,
)
from crowdml.protocol import read_event
from crowdml.types import Array

NOISE = NoiseEvent(3, 0, (Release("gradient", MinibatchPart.TRAINING, 5, 0.5),))
CHOICE = DirectionEvent(1, Role.TRAIN, 4.0)


@pytest.fixture
def account(tmp_path: Path) -> Iterator[Account]:
    with closing(Account(tmp_path)) as account:
        yield account


@pytest.mark.parametrize("statement", ["UPDATE entries SET task = 'b'", "DELETE FROM entries"])
def test_it_is_append_only(account: Account, statement: str) -> None:
    account.add_entry("a", AccountEntry("u", "steps", True, NOISE))
    with (
        closing(sqlite3.connect(account.file)) as database,
        pytest.raises(sqlite3.IntegrityError, match="append-only"),
    ):
        database.execute(statement)


def test_there_is_none_before_it_is_needed(account: Account) -> None:
    assert account.statement == AccountStatement(())
    assert Trail(account, "steps").last(iter(["00"])) == 0
    assert not account.file.exists()
    assert account.mark_taken(b"mark")
    assert stat.S_IMODE(account.file.stat().st_mode) == 0o600


def test_a_mark_is_taken_once_and_for_one_task(account: Account, tmp_path: Path) -> None:
    steps, more = Trail(account, "steps"), Trail(account, "more")
    assert len({steps.mark("00"), steps.mark("00", 1), steps.mark("01"), more.mark("00")}) == 4
    assert account.mark_taken(steps.mark("00").mark)
    with closing(Account(tmp_path)) as other:
        assert not other.mark_taken(Trail(other, "steps").mark("00").mark), "one key for all"
    assert steps.last(iter(["ff", "00", "01"])) == 2
    assert more.last(iter(["00"])) == 0
    assert Trail(account, "steps", again=True).last(iter(["00"])) == 0


def test_what_was_sent_adds_up() -> None:
    quiet = NoiseEvent(2, 0, (Release("gradient", MinibatchPart.TRAINING, 5, 0.1),), delta=1e-6)
    entries = [
        AccountEntry("u", "steps", True, NOISE), AccountEntry("u", "steps", True, NOISE),
        AccountEntry("u", "steps", False, NOISE), AccountEntry("v", "steps", True, quiet),
        AccountEntry("u", "all", False, CHOICE),
    ]  # fmt: skip
    found = AccountStatement(tuple(entries))
    assert [len(ledger.events) for ledger in found.tasks.values()] == [3, 1, 1]
    assert found.n_not_followed == 2
    assert found.epsilon_per_sample == pytest.approx(0.5 + epsilon_of(0.1, 1e-6) + 4)
    assert found.epsilon_per_sample_at_worst == pytest.approx(found.epsilon_per_sample + 0.5)
    assert found.epsilon_spent == pytest.approx(1.5 + epsilon_of(0.1, 1e-6) + 4)
    assert found.epsilon_per_person == pytest.approx(4.5 + epsilon_of(0.4, 1e-6) + 4)


def test_a_check_in_is_in_the_file_then_in_the_account_then_sent(tmp_path: Path) -> None:
    """Check the order, by which a crash neither locks the device nor charges for nothing."""

    def sanitize(x: Array, y: Array, ledger: Ledger) -> WrittenCheckin:
        return WrittenCheckin("a", b"sent")

    with closing(DeviceStore(tmp_path / "device")) as store:
        store.join(Identity("u", "steps", "ana", "token", "{}", Limits(1.0, 1.0)))
        store.add(np.zeros(2), 0.0, most=9)
        checkin = store.release(1, NOISE, sanitize)
        assert checkin is not None
        assert (store.pending_checkin, store.ledger.events) == (checkin, (NOISE,))
        assert not store.account.statement.entries
        assert not store.end_if_overtaken("copied"), "the file may know more than the record"
        for _ in range(2):
            assert store.claim(checkin)
            assert store.account.statement.entries == (AccountEntry("u", "steps", False, NOISE),)


def test_one_number_is_for_one_check_in(account: Account) -> None:
    """Let two copies write at the same time: the second check-in is not sent."""
    entry = AccountEntry("u", "steps", True, NOISE)
    account.begin_record("ana")
    assert account.newest("ana") == 0
    assert account.newest("eve") is None
    assert account.claim_number("ana", 1, "a", entry)
    assert not account.claim_number("ana", 1, "b", entry)
    assert account.claim_number("ana", 1, "a", entry)
    assert len(account.statement.entries) == 1
    with (
        closing(sqlite3.connect(account.file)) as database,
        pytest.raises(sqlite3.IntegrityError, match="append-only"),
    ):
        database.execute("UPDATE record SET number = 2")
    account.end_record("ana")
    assert account.newest("ana") is None


@pytest.mark.parametrize("tag", [{}, {"type": "unheard-of"}])
def test_an_event_of_another_version_is_never_left_out(tag: dict[str, str]) -> None:
    """Check that nothing is guessed from its fields: the total would be too small."""
    document = msgspec.msgpack.encode(tag | {"number": 2, "role": "train", "epsilon": 1.5})
    with pytest.raises(InvalidInput, match="Another version of crowdml has written it"):
        read_event(document)

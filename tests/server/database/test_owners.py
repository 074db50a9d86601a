"""Test owners, their sessions and the log of their actions."""

import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import Any, Literal

import argon2
import pytest
from argon2 import PasswordHasher

from crowdml.errors import InvalidInput, Rejected
from crowdml.phrase import Phrase
from crowdml.server import Store
from crowdml.server.database.form_drafts import MOST_DRAFTS
from crowdml.server.database.owners import SESSION_SECONDS, log_action
from crowdml.server.database.passwords import LONGEST_PASSWORD, hash_password, password_matches
from tests.support.servers import make_task

PASSWORD = "correct horse battery"


def count_drafts(folder: Path) -> int:
    with closing(sqlite3.connect(folder / "store.db")) as database:
        return int(database.execute("SELECT COUNT(*) FROM drafts").fetchone()[0])


def test_drafts_belong_to_their_owner_and_expire(store: Store, tmp_path: Path) -> None:
    for name in ("ana", "zoe"):
        store.owners.add(name, PASSWORD)
    form = {"title": "ä \n ?"}
    for n in range(MOST_DRAFTS + 2):
        store.drafts.keep("ana", f"draft-{n}", form | {"n": str(n)})
        store.drafts.keep("ana", "kept", form)
    assert store.drafts.read("ana", "kept") == form
    assert store.drafts.read("zoe", "kept") is None
    assert count_drafts(tmp_path) == MOST_DRAFTS
    with closing(sqlite3.connect(tmp_path / "store.db")) as database, database:
        database.execute("UPDATE drafts SET expires_at = ?", (int(time.time()) - 1,))
    assert store.drafts.read("ana", "kept") is None
    store.drafts.keep("zoe", "hers", form)
    assert count_drafts(tmp_path) == 1, "expired drafts are deleted"
    store.owners.remove("zoe")
    assert store.drafts.read("zoe", "hers") is None


def test_owners_come_and_go(store: Store) -> None:
    owners = store.owners
    assert owners.names() == []
    for name in ("zoe", "ana", "Åsa_2"):
        owners.add(name, PASSWORD)
    assert owners.names() == ["ana", "zoe", "Åsa_2"]
    owners.remove("zoe")
    assert owners.names() == ["ana", "Åsa_2"]
    with pytest.raises(InvalidInput, match=r"no owner 'zoe'.*crowdml owner list"):
        owners.remove("zoe")


@pytest.mark.parametrize("name", ["", "two words", "<b>", "a" * 64, "1st", "a\n", "../etc"])
def test_names_are_plain(store: Store, name: str) -> None:
    with pytest.raises(InvalidInput, match="letters, digits and _"):
        store.owners.add(name, PASSWORD)
    assert store.owners.names() == []


@pytest.mark.parametrize("length", [0, 9, LONGEST_PASSWORD + 1])
def test_passwords_have_bounds(store: Store, length: int) -> None:
    store.owners.add("ana", PASSWORD)
    with pytest.raises(InvalidInput, match=f"10 to 1000 characters, found {length}"):
        store.owners.add("ana", "x" * length)
    assert password_matches(store.owners.password("ana"), PASSWORD)


def test_only_the_right_password_matches(store: Store) -> None:
    store.owners.add("ana", PASSWORD)
    store.owners.add("bob", PASSWORD)
    hashed, other = store.owners.password("ana"), store.owners.password("bob")
    assert hashed is not None
    assert hashed.startswith("$argon2id$")
    assert hashed != other
    assert PASSWORD not in hashed
    assert password_matches(hashed, PASSWORD)
    for wrong in ("", PASSWORD + " ", PASSWORD.upper(), "x" * 5000):
        assert not password_matches(hashed, wrong)
    assert store.owners.password("nobody") is None
    assert not password_matches(None, PASSWORD)
    assert not password_matches("not a hash", PASSWORD)


def test_an_unknown_owner_takes_as_long_to_reject(monkeypatch: pytest.MonkeyPatch) -> None:
    """Check that both cases hash once, with the same parameters."""
    asked: list[str] = []

    class Watched(PasswordHasher):
        def __init__(self, **costs: Any) -> None:
            assert not costs, "the parameters are the same for all"
            super().__init__(time_cost=1, memory_cost=8, parallelism=1)

        def hash(self, *arguments: Any, **named: Any) -> str:
            asked.append("hash")
            return super().hash(*arguments, **named)

        def verify(self, *arguments: Any) -> Literal[True]:
            asked.append("verify")
            return super().verify(*arguments)

    monkeypatch.setattr(argon2, "PasswordHasher", Watched)
    hashed = hash_password(PASSWORD)
    asked.clear()
    assert not password_matches(hashed, "something else")
    assert not password_matches(None, "something else")
    assert asked == ["verify", "hash"]


def test_sessions_last_twelve_hours_and_are_stored_as_hashes(store: Store, tmp_path: Path) -> None:
    owners = store.owners
    owners.add("ana", PASSWORD)
    owners.add("bob", PASSWORD)
    token, other = owners.open_session("ana"), owners.open_session("bob")
    assert (owners.session(token), owners.session(other)) == ("ana", "bob")
    assert owners.session(token[:-1]) is None
    assert owners.session("") is None
    with closing(sqlite3.connect(tmp_path / "store.db")) as database, database:
        assert token not in repr(database.execute("SELECT * FROM sessions").fetchall())
        (left,) = database.execute("SELECT MAX(expires_at) FROM sessions").fetchone()
        assert abs(left - time.time() - SESSION_SECONDS) < 60
        assert SESSION_SECONDS == 12 * 3600
        database.execute("UPDATE sessions SET expires_at = ?", (int(time.time()) - 1,))
    assert owners.session(token) is None
    owners.open_session("bob")
    with closing(sqlite3.connect(tmp_path / "store.db")) as database:
        assert database.execute("SELECT COUNT(*) FROM sessions").fetchone() == (1,)


def test_sessions_end(store: Store) -> None:
    owners = store.owners
    owners.add("ana", PASSWORD)
    owners.add("bob", PASSWORD)
    staying = owners.open_session("bob")
    first, second = owners.open_session("ana"), owners.open_session("ana")
    owners.close_session(first)
    assert (owners.session(first), owners.session(second)) == (None, "ana")
    owners.add("ana", PASSWORD + "!")
    assert owners.session(second) is None
    third = owners.open_session("ana")
    owners.remove("ana")
    assert owners.session(third) is None
    assert owners.session(staying) == "bob"


def test_deeds_are_logged_with_who_did_them(store: Store) -> None:
    row = store.create_task(make_task("activity"), by="ana")
    device, _ = store.enrol(row.id, None, invite_required=False)
    store.set_task_state("activity", "paused", by="bob")
    store.invites.create(row.id, 3, by="ana")
    store.set_device_status(device.name, "revoked", by="ana")
    store.create_task(make_task("other"))
    actions = store.owners.actions()
    assert [(str(a.owner), str(a.action), a.task, str(a.detail)) for a in actions] == [
        ("command line", "created", "other", ""),
        ("ana", "revoked", "activity", f"device {device.name}"),
        ("ana", "invited", "activity", "an invite for 3"),
        ("bob", "paused", "activity", ""),
        ("ana", "created", "activity", ""),
    ]
    newest = store.owners.actions("activity", most=2)
    assert [str(a.action) for a in newest] == ["revoked", "invited"]
    assert newest[1].detail == Phrase("an invite for {n}", n=3)
    assert store.invites.count(row.id) == 3


@pytest.mark.parametrize("text", ["ana", "", '{"template": "{n.real}"}', "{}"])
def test_details_that_are_not_phrases_are_shown_unchanged(store: Store, text: str) -> None:
    """Check a name, and JSON that is not a phrase."""
    with store._database.writing() as connection:
        log_action(connection, "ana", Phrase("invited"), "activity", text)
    assert store.owners.actions()[0].detail == text


def test_what_fails_is_not_logged(store: Store) -> None:
    store.create_task(make_task("activity"), by="ana")
    before = store.owners.actions()
    with pytest.raises(InvalidInput):
        store.create_task(make_task("activity"), by="ana")
    with pytest.raises(InvalidInput):
        store.set_task_state("activity", "dancing", by="ana")
    with pytest.raises(InvalidInput):
        store.set_device_status("nobody", "revoked", by="ana")
    device, _ = store.enrol(store.task("activity").id, None, invite_required=False)
    store.set_device_status(device.name, "left")
    assert store.owners.actions() == before


def test_attempts_are_counted_over_all_nodes(database: str) -> None:
    """Check that five attempts at once, and then one every ten seconds, are allowed on any node."""
    stores = Store(database), Store(database)
    for i in range(5):
        stores[i % 2].owners.count_attempt("ann")
    for store in stores:
        with pytest.raises(Rejected, match="at most 6 requests a minute") as rejected:
            store.owners.count_attempt("ann")
        assert 0 < rejected.value.extra["retry_after"] <= 10
        store.owners.count_attempt("ben")
    for store in stores:
        store.close()

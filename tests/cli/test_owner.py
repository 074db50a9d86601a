"""Test `crowdml owner`: add, list and remove the owners of the portal."""

import os
import pty
import sys
from contextlib import closing
from pathlib import Path

import pytest

from crowdml.server import Store
from crowdml.server.database.passwords import password_matches
from tests.cli.command import COMMAND, Command, Here

PASSWORD = "correct horse battery"


def matches(folder: Path, password: str, name: str = "ana") -> bool:
    with closing(Store(f"sqlite:///{folder / 'crowdml.db'}")) as store:
        return password_matches(store.owners.password(name), password)


def test_the_life_of_an_owner(crowdml: Command, quick: Here, empty: str) -> None:
    assert "crowdml owner add NAME" in quick("owner", "list").said()
    assert quick("owner", "list", "--json").json() == {"owners": []}
    added = crowdml("owner", "add", "ana", "--password-file", "-", typed=f"{PASSWORD}\nmore\n")
    assert added.said() == "added ana\n"
    assert matches(crowdml.folder, PASSWORD)
    (crowdml.folder / "secret").write_text(f"{PASSWORD} ü\r\n")
    assert quick("owner", "add", "bob", "--password-file", "secret").said() == "added bob\n"
    assert matches(crowdml.folder, f"{PASSWORD} ü", "bob")
    assert quick("owner", "list").said() == "ana\nbob\n"
    assert quick("owner", "list", "--json").json() == {"owners": ["ana", "bob"]}
    assert quick("owner", "remove", "ana").said() == "removed ana\n"
    assert quick("owner", "list").said() == "bob\n"
    assert "no owner 'ana'" in quick("owner", "remove", "ana").error()


def test_a_new_password_ends_sessions(quick: Here, empty: str, tmp_path: Path) -> None:
    quick("owner", "add", "ana", "--password-file", "-", typed=PASSWORD).said()
    with closing(Store(empty)) as store:
        token = store.owners.open_session("ana")
    changed = quick("owner", "add", "ana", "--password-file", "-", typed=f"{PASSWORD}!\n")
    assert changed.said() == "changed the password of ana\n"
    assert matches(tmp_path, f"{PASSWORD}!")
    assert not matches(tmp_path, PASSWORD)
    with closing(Store(empty)) as store:
        assert store.owners.session(token) is None


def test_long_passwords_and_wrong_names(quick: Here, empty: str) -> None:
    add = ("owner", "add", "--password-file", "-")
    assert "found 1001" in quick(*add, "ana", typed="x" * 1001).error()
    assert "letters, digits and _" in quick(*add, "two words", typed=PASSWORD).error()
    assert quick("owner", "list").said().startswith("no owners")


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
@pytest.mark.parametrize("second", [PASSWORD, "something else"])
def test_on_a_terminal_it_asks_twice_and_shows_nothing(
    crowdml: Command, empty: str, second: str
) -> None:
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(crowdml.folder)
        os.execvpe(COMMAND[0], [*COMMAND, "owner", "add", "ana"], crowdml.environment)
    shown = b""
    for question, answer in ((b"Password: ", PASSWORD), (b"again: ", second)):
        while question not in shown:
            shown += os.read(terminal, 1000)
        os.write(terminal, answer.encode() + b"\n")
    try:
        while more := os.read(terminal, 1000):
            shown += more
    except OSError:
        pass  # Linux raises this error when the other end of a terminal is closed.
    os.close(terminal)
    _, status = os.waitpid(child, 0)
    same = second == PASSWORD
    assert os.waitstatus_to_exitcode(status) == (0 if same else 1)
    assert PASSWORD.encode() not in shown
    assert (b"added ana" in shown) == same
    assert (b"must be the same" in shown) != same
    assert matches(crowdml.folder, PASSWORD) == same

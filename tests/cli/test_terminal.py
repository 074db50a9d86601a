"""Test that a server's texts cannot control the terminal."""

import json
from collections.abc import Iterator

import msgspec
import pytest
from rich.table import Table
from rich.text import Text

from crowdml.cli.console import Console
from tests.cli.command import Here, Ran
from tests.device.fakes import MemoryTransport
from tests.device.scripted_server import Answer, ScriptedServer, serving
from tests.support.servers import FaultyServer, create, make_task

HIDDEN = "\x1b[8m\x9b8m\x7f\x00\r\n\u202e\u2066\u200b\u2028"
SPELT = r"\x1b[8m\x9b8m\x7f\x00\r\n\u202e\u2066\u200b\u2028"
ROW = "0.1,0.2,-0.3,0.1,still\n"


class Trickster(ScriptedServer):
    """Put control characters into every text of a server."""

    def __init__(self) -> None:
        super().__init__()
        replace = msgspec.structs.replace
        task = make_task()
        target = replace(task.terms.target, labels=("still", f"walk{HIDDEN}"))
        terms = replace(task.terms, sensors=f"motion{HIDDEN}", target=target)
        words = {"title": f"Activity{HIDDEN}", "objective": f"to learn{HIDDEN}"}
        self.memory = MemoryTransport(replace(task, terms=terms, **words))
        self.model = (409, {}, self.problem("unknown"))

    def problem(self, kind: str) -> bytes:
        problem = {"type": f"urn:crowdml:problem:{kind}", "detail": f"no{HIDDEN}"}
        return json.dumps(problem).encode()

    def answer(self, method: str, path: str, body: bytes) -> Answer:
        if path.endswith("/me"):
            return 404, {}, self.problem(f"not-found{HIDDEN}")
        return super().answer(method, path, body)


@pytest.fixture
def trickster() -> Iterator[tuple[Trickster, str]]:
    trickster = Trickster()
    with serving(trickster) as url:
        yield trickster, f"{url}/join/activity"


def shown(ran: Ran) -> str:
    """Return what was written; every character but a line break must be visible."""
    written = ran.out + ran.err
    assert not [c for c in written.replace("\n", "") if not c.isprintable()], repr(written)
    return written


def test_every_command_of_a_device(quick: Here, trickster: tuple[Trickster, str]) -> None:
    script, link = trickster
    joined = shown(quick("device", "join", link, "--yes"))
    for start in ("Activity", "to learn", "motion", "walk"):
        assert start + SPELT in joined.replace("\n", "")
    run = ("device", "run", "--source", "-", "--wait", 0.01)
    assert f"the server rejected the request: no{SPELT}" in shown(quick(*run, typed=3 * ROW))
    assert f"no{SPELT}" in shown(quick("device", "leave", "--keep"))
    shown(quick("device", "ledger"))
    quick("device", "join", link, "--yes", "--file", "other")
    script.model = (403, {}, script.problem("revoked"))
    over = shown(quick(*run, "--file", "other", typed=3 * ROW))
    assert f"the task is over for this device: no{SPELT}" in over


def test_a_rejection_in_the_ledger(quick: Here, trickster: tuple[Trickster, str]) -> None:
    script, link = trickster
    quick("device", "join", link, "--yes").said()
    model = msgspec.json.encode(script.memory.checkout("t").checkout)
    script.model = (200, {}, model)
    script.checkin = (422, {}, script.problem(f"implausible{HIDDEN}"))
    quick("device", "run", "--source", "-", "--wait", 0.01, typed=3 * ROW)
    assert "rejected: implausible\\x1b[8m" in shown(quick("device", "ledger"))
    [row] = quick("device", "ledger", "--json").json()["checkins"]
    assert row["answer"].startswith("rejected: implausible\\x1b[8m")


def test_a_file_of_samples(quick: Here, trickster: tuple[Trickster, str]) -> None:
    _, link = trickster
    quick("device", "join", link, "--yes").said()
    (quick.folder / "samples.csv").write_text(f"0,0,0,0,w{HIDDEN}\n1,2\x1b[8m,3,4,still\n")
    shown(quick("device", "run", "--source", "samples.csv", "--wait", 0.01))
    (quick.folder / "samples\x1b[8m.csv").write_text(f"0,0,0,0,{'x' * 9}\n")
    ran = quick("device", "run", "--source", "samples\x1b[8m.csv", "--wait", 0.01)
    assert "samples\\x1b[8m.csv must have at least one valid sample" in shown(ran)
    [error] = [line for line in ran.err.splitlines() if line.startswith("crowdml: ")]
    assert error.endswith(f"walk{SPELT}."), "a label's line break begins no line"


def test_a_server_s_own_tasks(quick: Here) -> None:
    process = FaultyServer(quick.folder)
    create(process.database, msgspec.structs.replace(make_task(), title=f"Activity{HIDDEN}"))
    quick.changes["CROWDML_DATABASE"] = process.database
    for command in (["list"], ["show", "activity"]):
        assert "Activity\\x1b[8m" in shown(quick("task", *command))
    listed = quick("task", "list", "--json")
    assert shown(listed).count("\n") == 1
    assert listed.json()["tasks"][0]["title"] == f"Activity{HIDDEN}"
    assert json.loads(quick("task", "show", "activity", "--json").json()["terms"])


def test_tables_keep_their_own_colours(capsys: pytest.CaptureFixture[str]) -> None:
    table = Table("a")
    table.add_row(Text("text\x1b[8m", style="bold"))
    Console(force_terminal=True, color_system="standard").print(table)
    written = capsys.readouterr().out
    assert "\x1b[1mtext\\x1" in written
    assert "\x1b[8m" not in written

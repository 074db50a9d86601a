"""Test the one-file device: a real server accepts it like the package's, for every model."""

import ast
import json
import re
import sqlite3
import stat
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from crowdml.protocol import Task, terms_hash
from crowdml.server.database.log_entry import LogEntry
from tests.conformance.scene import Scene, Stage
from tests.device.scripted_server import serving
from tests.one_file_device.program import PROGRAM, OneFileInProcess, OneFileProgram, line
from tests.support.servers import PATIENCE, FaultyServer, create, make_task

CHECKINS = 30
DIRECTION: dict[str, Any] = {
    "privacy__mechanism": "direction",
    "privacy__epsilon": 60.0,
    "collection__checkins": CHECKINS,
    "collection__evaluators": 1 / 4,
    "model__regularization": 0.01,
    "optimizer__c": 1.0,
}
LABEL: dict[str, Any] = {"collection__counters": 1 / 4}
NUMBER: dict[str, Any] = {"target__labels": None, "target__scale": 2.0}
KINDS = {"softmax": LABEL, "hinge": LABEL, "ridge": NUMBER, "huber": NUMBER}
TASKS = {
    f"{kind}-{intercept}".lower(): make_task(
        f"{kind}-{intercept}".lower(),
        model__kind=kind, model__intercept=intercept, **changes, **DIRECTION,
    )
    for (kind, changes), intercept in zip(KINDS.items(), (False, True, True, False), strict=True)
}  # fmt: skip
OTHERS = {
    "laplace": make_task("laplace", privacy__mechanism="laplace", optimizer__c=0.01),
    "gaussian": make_task("gaussian", privacy__mechanism="gaussian", optimizer__c=0.01),
    "once": make_task("once", **DIRECTION | {"privacy__epsilon": 4.0, "collection__checkins": 1}),
    "many": make_task(
        "many",
        **DIRECTION | {"collection__batch": 500, "collection__buffer": 1000},
    ),
    "invited": make_task("invited", enrolment__mode="invite", **DIRECTION),
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FaultyServer]:
    process = FaultyServer(tmp_path_factory.mktemp("server"), "self-signed")
    create(process.database, *TASKS.values(), *OTHERS.values())
    yield process.start()
    assert process.stop() == 0, process.output


@pytest.fixture
def program(tmp_path: Path) -> OneFileProgram:
    return OneFileInProcess(tmp_path)


def join(program: OneFileProgram, server: FaultyServer, task: str) -> None:
    link = f"{server.url}/join/{task}"
    joined = program.join(link, "--fingerprint", server.fingerprint)
    assert joined.returncode == 0, joined.stderr


def sample(rng: np.random.Generator, task: Task) -> str:
    y = rng.choice(task.terms.target.labels) if task.terms.n_classes else float(rng.normal())
    return line(rng.normal(size=task.terms.features.count), y)


def log_of(server: FaultyServer, task: str) -> list[LogEntry]:
    with server.store() as store:
        return list(store.log(store.task(task).id))


@pytest.mark.parametrize("name", TASKS)
def test_a_real_server_applies_all_of_it(tmp_path: Path, server: FaultyServer, name: str) -> None:
    """Send all check-ins of two devices, some of each role.

    False-positive rate: (3/4)⁶⁰ for each role of a case that nobody has, and 2⁻³⁰ for each case in
    which the first device never trains: 3e-7 in total.
    """
    task, rng = TASKS[name], np.random.default_rng(1)
    for number in range(2):
        (tmp_path / str(number)).mkdir()
        program = OneFileInProcess(tmp_path / str(number))
        join(program, server, name)
        lines = [sample(rng, task) for _ in range(3 * CHECKINS + 2)]
        ran = program.feed("a,b,c,d,label\n", *lines)
        assert ran.returncode == 3, ran.stderr
        assert ran.stdout == "all check-ins that you agreed to are made. Thank you.\n"
        assert [entry["answer"] for entry in program.state["ledger"]] == ["applied"] * CHECKINS
        assert program.buffered == 0, "no more is taken than was agreed"
        *rows, spent, for_you, row = program.run("ledger").stdout.splitlines()
        assert len(rows) == CHECKINS
        assert spent == "ε = 60 in total"
        # Until the first direction is applied the model has learnt nothing, and nothing is counted.
        sent = log_of(server, name)
        learnt_from = next(i for i, entry in enumerate(sent) if b"direction" in entry.payload) + 1
        counted = min(len(sent) - learnt_from, CHECKINS)
        last = min(3 * counted, 21)
        assert re.fullmatch(rf"The crowd’s model .* \d+ of your last {last} samples.*", for_you)
        assert re.fullmatch(f"Over time, from no sample to all: [▁▂▃▄▅▆▇█]{{{counted}}}", row)
        *works, state, mine, since, learnt = program.run("result").stdout.splitlines()
        assert works == [for_you, row]
        n = (number + 1) * CHECKINS
        assert state == f"The task {name} is running, with {n} check-ins so far."
        first = 1 + number * CHECKINS
        were = f"check-ins so far were yours, the first was number {first}."
        assert mine == f"{CHECKINS} of {n} {were}"
        assert "model" in since
        assert learnt == f"What was learnt: {server.url}/tasks/{name}"
        assert program.run("leave").returncode == 0
    log = log_of(server, name)
    assert len(log) == 2 * CHECKINS
    assert len({(entry.device, entry.number) for entry in log}) == 2 * CHECKINS
    said = b"".join(entry.payload for entry in log)
    assert b"direction" in said
    assert b"wrong" in said
    assert (b"answer" in said) == (TASKS[name].terms.n_classes > 0)


def test_what_it_remembers_after_leaving(tmp_path: Path, server: FaultyServer) -> None:
    """Check that the ledger adds up over rejoining, and that samples, token and terms are gone.

    Like `tests.one_file_device.test_sensing.test_as_a_program`, this needs the standard library
    only: most other tests run the program in their own process.
    """
    program = OneFileProgram(tmp_path)
    rng, given = np.random.default_rng(2), line([0.123456789, 0.0, 0.0, 0.0], "walk")
    for times in (1, 2):
        join(program, server, "once")
        assert program.feed(*(sample(rng, OTHERS["once"]) for _ in range(3))).returncode == 3
        assert f"\nε = {4 * times} in total\n" in program.run("ledger").stdout
        assert program.run("leave").returncode == 0
        assert list(program.state) == ["ledger"]
        assert program.feed().stderr == "this file has not joined a task. Join one first.\n"
        program.source.unlink()
    join(program, server, "once")
    assert "1 of 3 samples wait" in program.feed(given).stdout
    assert b"0.123456789" in program.file.read_bytes()
    program.run("leave")
    assert b"0.123456789" not in program.file.read_bytes(), "what is erased is overwritten"
    joined = program.join(f"{server.url}/join/once", "--fingerprint", server.fingerprint)
    assert "What you lost: ε = 8 before" in joined.stdout
    assert program.file.stat().st_mode & 0o777 == 0o600


def test_a_line_counts_once(program: OneFileProgram, server: FaultyServer) -> None:
    rng, task = np.random.default_rng(3), TASKS["softmax-false"]
    join(program, server, task.name)
    lines = [sample(rng, task) for _ in range(4)]
    assert "1 of 3 samples wait" in program.feed(*lines).stdout
    assert "1 of 3 samples wait" in program.feed().stdout
    assert "2 of 3 samples wait" in program.feed("\n", "nonsense\n", sample(rng, task)).stdout
    program.source.write_text("".join(reversed(lines)))
    ran = program.feed(*lines)
    assert (ran.returncode, program.buffered) == (1, 2)
    assert "were taken before, and must be as they were, found others" in ran.stderr
    piped = program.run("run", "--source", "-", "--yes", typed=lines[0])
    assert "0 of 3 samples wait" in piped.stdout


def test_two_runs_at_once_take_each_line_once(
    program: OneFileProgram, server: FaultyServer
) -> None:
    """Check that neither run fails, or ends as finished while lines are left."""
    rng, task = np.random.default_rng(4), OTHERS["many"]
    join(program, server, "many")
    lines = [sample(rng, task) for _ in range(300)]
    program.source.write_text("".join(lines))
    run = ("run", "--source", program.source.name, "--wait", "60", "--yes")
    with program.launch(*run) as one, program.launch(*run) as other:
        for process in (one, other):
            out, err = process.communicate(timeout=PATIENCE)
            assert process.returncode == 0, err
            assert out == "300 of 500 samples wait for a check-in.\n"
    with closing(sqlite3.connect(program.file)) as database:
        kept = [json.loads(row[0]) for row in database.execute("SELECT sample FROM buffer")]
    assert len(kept) == len({json.dumps(each) for each in kept}) == 300
    assert program.state["sources"][str(program.source.resolve())][0] == 300


def test_two_runs_at_once_check_in_in_turns(program: OneFileProgram, server: FaultyServer) -> None:
    rng, task = np.random.default_rng(5), TASKS["softmax-false"]
    join(program, server, task.name)
    program.source.write_text("".join(sample(rng, task) for _ in range(40)))
    run = ("run", "--source", program.source.name, "--wait", "60", "--yes")
    with program.launch(*run) as one, program.launch(*run) as other:
        for process in (one, other):
            _, err = process.communicate(timeout=PATIENCE)
            assert process.returncode == 0, err
    assert program.state["sources"][str(program.source.resolve())][0] == 40
    ledger = program.state["ledger"]
    assert [entry["number"] for entry in ledger] == list(range(1, len(ledger) + 1))
    assert {entry["answer"] for entry in ledger} <= {"applied", "duplicate"}
    assert 3 * len(ledger) + program.buffered <= 40
    assert program.buffered < 3


BAD = {
    "1,2,3,walk": "x must be 4 numbers, found 3",
    "1,2,3,nan,walk": "line 2, '1,2,3,nan,walk\\n': column 4: expected a finite number, found none",
    "1,2,3,4,swim": "y must be one of still, walk, run, found 'swim'",
    "1,2,3,4,1": "Labels are matched as text",
    "1,2,3,4,1.0": "Labels are matched as text",
    "1,2,\x1b[8m,4,walk": r"\x1b[8m",
    '1,2,3,4,"wa': "y must be one of still",
}


def test_what_is_no_sample_is_skipped(program: OneFileProgram, server: FaultyServer) -> None:
    join(program, server, "softmax-false")
    ran = program.feed(
        *(f"{bad}\n" for bad in BAD), "0.1,0.2,0.3,0.4,walk\n", "1e300,1e300,0,0,walk\n"
    )
    assert "2 of 3 samples wait" in ran.stdout
    assert "\x1b" not in ran.stderr
    *shown, more = ran.stderr.splitlines()
    assert more == f"… and {len(BAD) - 5} more"
    for said, reason in zip(shown, BAD.values(), strict=False):
        assert reason in said


def test_rows_in_other_units_are_asked_about(program: OneFileProgram, server: FaultyServer) -> None:
    join(program, server, "softmax-false")
    program.source.write_text(3 * "1,2,3,4,walk\n")
    for source, typed in ((program.source.name, ""), ("-", program.source.read_text())):
        ran = program.run("run", "--source", source, "--wait", "0", typed=typed)
        assert ran.returncode == 8
        assert "3 of the first 3 rows cannot be in the task's units: they are longer" in ran.stderr
        assert (program.buffered, program.state["number"]) == (0, 0)
    assert program.run("run", "--wait", "nan").returncode == 2
    assert program.feed().returncode == 0
    assert program.state["number"] == 1


@pytest.mark.parametrize("name", ["laplace", "gaussian"])
def test_other_mechanisms_are_rejected(
    program: OneFileProgram, server: FaultyServer, name: str
) -> None:
    rejected = program.join(f"{server.url}/join/{name}", "--fingerprint", server.fingerprint)
    assert rejected.returncode == 1
    assert rejected.stderr == (
        f"the task uses {name} noise: device.py supports only the mechanism direction. "
        "Install crowdml, as the join page shows.\n"
    )


def test_an_invite(program: OneFileProgram, server: FaultyServer) -> None:
    link, pinned = f"{server.url}/join/invited", ("--fingerprint", server.fingerprint)
    assert "invite" in program.join(link, *pinned).stderr
    with server.store() as store:
        invite = store.invites.create(store.task("invited").id, 1)
    assert program.join(link, *pinned, "--invite", invite).returncode == 0


@pytest.mark.parametrize("answer", ["", "whatever\n"])
def test_only_yes_is_yes(program: OneFileProgram, server: FaultyServer, answer: str) -> None:
    link = f"{server.url}/join/once"
    asked = program.run("join", link, "--fingerprint", server.fingerprint, typed=answer)
    assert asked.returncode == 1
    assert asked.stdout.endswith("Agree and join? [y/N] ")
    assert "device" not in program.state
    assert '"epsilon": 4.0' in asked.stdout, "the terms themselves are shown"
    assert "ε = 4, for everything that you send to this task." in asked.stdout
    assert "sends only your answer to one sample" in asked.stdout


def test_a_weak_promise_is_named_so(program: OneFileProgram, server: FaultyServer) -> None:
    arguments = ("join", f"{server.url}/join/softmax-false", "--fingerprint", server.fingerprint)
    shown = program.run(*arguments, "--yes")
    assert "We call that not private." in shown.stdout
    assert "\nTHIS TASK IS NOT PRIVATE. It has ε = " in shown.stdout
    assert "never leave" not in shown.stdout
    assert (shown.returncode, "--accept-no-privacy" in shown.stderr) == (1, True)
    assert "device" not in program.state
    assert program.run(*arguments, "--yes", "--accept-no-privacy").returncode == 0


def test_whom_it_trusts(program: OneFileProgram, server: FaultyServer) -> None:
    link = f"{server.url}/join/once"
    unknown = program.join(link)
    assert (unknown.returncode, "--fingerprint" in unknown.stderr) == (1, True)
    dropped = program.join(link, "--fingerprint", "")
    assert (dropped.returncode, "64 hexadecimal digits" in dropped.stderr) == (1, True)
    other = program.join(link, "--fingerprint", "0" * 64)
    assert other.returncode == 1
    assert server.fingerprint in other.stderr
    assert "Do not go on." in other.stderr
    pairs = server.fingerprint.upper()
    colons = ":".join(pairs[i : i + 2] for i in range(0, 64, 2))
    assert program.join(link, "--fingerprint", colons).returncode == 0
    again = program.join(link, "--fingerprint", colons)
    assert (again.returncode, "this file takes part in once at" in again.stderr) == (1, True)


@pytest.mark.parametrize(
    ("link", "said"),
    [
        ("http://crowd.example/join/once", "http on this machine"),
        ("http://127.0.0.1.crowd.example/join/once", "http on this machine"),
        ("ftp://crowd.example/join/once", "a link is"),
        ("https://crowd.example/", "a link is"),
        ("https://crowd.example/join/../x", "a link is"),
        ("https://[::1/join/once", "IPv6"),
        ("", "a link is"),
    ],
)
def test_where_it_does_not_go(program: OneFileProgram, link: str, said: str) -> None:
    rejected = program.join(link)
    assert (rejected.returncode, rejected.stdout) == (1, "")
    assert said in rejected.stderr
    assert "Traceback" not in rejected.stderr


def test_files_of_others_are_left_alone(program: OneFileProgram, server: FaultyServer) -> None:
    for command in ("run", "ledger", "leave"):
        assert program.run(command).stderr == "there is no device.sqlite. Join a task first.\n"
    assert not program.file.exists()
    (database,) = [path for path in server.folder.iterdir() if path.suffix == ".db"]
    before, mode = database.read_bytes(), database.stat().st_mode
    database.chmod(0o644)
    rejected = program.run("ledger", "--file", str(database))
    assert (rejected.returncode, "another program's file" in rejected.stderr) == (1, True)
    assert (database.read_bytes(), stat.S_IMODE(database.stat().st_mode)) == (before, 0o644)
    database.chmod(mode)
    program.file.write_text("not a database at all, but long enough to be taken for one " * 99)
    said = "cannot use device.sqlite: file is not a database. It is damaged: put it aside, and join"
    assert program.run("ledger").stderr.startswith(said)


# A server that lies to the person; lies to the device are tested for all devices elsewhere


@pytest.fixture
def scene() -> Iterator[tuple[Scene, str]]:
    """Serve a scripted task, and return the link to join it."""
    stage = Stage()
    scene = stage.scene(checkins=4)
    with serving(stage) as url:
        yield scene, f"{url}/join/{scene.name}"


def test_control_characters_are_escaped(program: OneFileProgram, scene: tuple[Scene, str]) -> None:
    """Check colours that conceal, lines that forge, and characters that reverse a text."""
    liar, link = scene
    hidden = "\x1b[8m\x9b2J\r\u202e"
    liar.terms = liar.terms.replace('"sensors": "motion"', '"sensors": "\u202emotion\u202c"')
    liar.terms = liar.terms.replace('"Jane Doe"', '"Jane\u202eDoe"')
    liar.lies = {"title": f"Nice{hidden}", "objective": "x\nWhat you lose: nothing\x07"}
    shown = program.run("join", link, typed="n\n")
    assert shown.stdout.replace("\n", "").isprintable()
    assert r"Nice\x1b[8m\x9b2J\r\u202e" in shown.stdout
    assert "\nWhat you lose: nothing" not in shown.stdout
    assert r"\u202emotion\u202c" in shown.stdout
    document = {"type": "urn:crowdml:problem:revoked", "detail": f"gone{hidden}"}
    liar.says("devices", (403, {}, json.dumps(document).encode()))
    rejected = program.join(link)
    assert r"gone\x1b[8m" in rejected.stderr
    assert rejected.stderr.replace("\n", "").isprintable()


def test_the_loss_is_below_a_long_text(program: OneFileProgram, scene: tuple[Scene, str]) -> None:
    liar, link = scene
    liar.terms = liar.terms.replace("{", "{" + "\n" * 3000, 1)
    *_, loss, lost, name = program.run("join", link, typed="n\n").stdout.splitlines()[:-1]
    assert loss.startswith("What you lose: Moderate privacy. ε = 4, for everything")
    assert "right 983 times in 1,000. We call that moderate." in loss
    assert lost.startswith("What you lost: ε = 0")
    assert terms_hash(liar.terms) in name


def test_no_header_is_no_consent(program: OneFileProgram, scene: tuple[Scene, str]) -> None:
    liar, link = scene
    program.join(link)
    liar.says("model", (200, {}, b'{"version": 0, "state": "running", "parameters": ""}'))
    rejected = program.feed(*["0.1,0.2,0.3,0.4,walk\n"] * 3)
    assert rejected.stderr == "the terms have changed. Leave, and read them anew.\n"
    assert (rejected.returncode, program.buffered) == (7, 3)


# What it is made of


def test_nothing_to_install() -> None:
    tree = ast.parse(PROGRAM.read_text(encoding="utf-8"))
    modules = {
        name.partition(".")[0]
        for node in ast.walk(tree)
        for name in (
            [alias.name for alias in node.names] if isinstance(node, ast.Import)
            else [node.module or ""] if isinstance(node, ast.ImportFrom)
            else []
        )
    }  # fmt: skip
    assert modules <= sys.stdlib_module_names
    assert "secrets" in modules
    assert "random" not in modules


def test_old_pythons_read_it() -> None:
    ast.parse(PROGRAM.read_text(encoding="utf-8"), feature_version=(3, 9))
    with pytest.raises(SyntaxError):
        ast.parse("match 1:\n    case _: pass", feature_version=(3, 9))

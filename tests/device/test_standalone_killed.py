"""The one file dies at any step, or twice at once: nothing is lost, doubled or hidden."""

import json
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from crowdml.server.entry import LogEntry
from tests.device.alone import PROGRAM, Alone, line
from tests.device.dying import STEPS
from tests.servers import Process, Start, make_task

DYING = Path(__file__).with_name("dying.py")
LINES = 60
BATCH = 3


def start_with(start: Start, alone: Alone) -> Process:
    task: dict[str, Any] = {"privacy__epsilon": 20.0, "collection__checkins": 20}
    server = start(make_task(privacy__mechanism="direction", **task))
    assert alone.join(f"{server.url}/join/activity").returncode == 0
    return server


def lines(n: int, seed: int = 0) -> list[str]:
    rng = np.random.default_rng(seed)
    return [line(rng.normal(size=4), rng.integers(3)) for _ in range(n)]


def log_of(server: Process) -> list[LogEntry]:
    with server.store() as store:
        return list(store.log(store.task("activity").id))


@pytest.mark.parametrize("step", STEPS)
def test_killed_after_a_step(start: Start, tmp_path: Path, step: str) -> None:
    alone = Alone(tmp_path)
    server = start_with(start, alone)
    dying = Alone(tmp_path, (str(DYING), step, str(PROGRAM)))
    letters: list[str] = []
    for i in range(4):
        assert dying.feed(*lines(4, seed=i)).returncode == -signal.SIGKILL
        state, n_sent = alone.state, len(log_of(server))
        _look(step, state, alone.buffered, n_sent)
        letters += [json.loads(state["outbox"])["id"]] if state["outbox"] else []
        assert len(state["ledger"]) == state["number"] == n_sent + (step == "stored")
    done = alone.feed(*lines(LINES - 16, seed=9))
    assert done.returncode == 0, done.stderr
    state, log = alone.state, log_of(server)
    assert [entry.number for entry in log] == list(range(1, len(log) + 1))
    assert {entry["answer"] for entry in state["ledger"]} <= {"applied", "duplicate"}
    assert len(state["ledger"]) == len(log), "one cost for each letter"
    assert set(letters) <= {entry.id for entry in log}, "the same bytes were sent again"
    assert BATCH * len(log) + alone.buffered == LINES, "every line counts, once"


def _look(step: str, state: Any, buffered: int, n_sent: int) -> None:
    """Before the one commit nothing was told; after it nothing is left to tell it from."""
    assert bool(state["outbox"]) == (step in ("stored", "sent"))
    assert (buffered >= BATCH) == (step in ("checked out", "told"))
    if step == "sent":
        assert state["ledger"][-1]["answer"] == "none yet"
        assert n_sent == state["number"], "it has arrived, and the device does not know"


def test_a_step_that_never_comes_is_no_test(start: Start, tmp_path: Path) -> None:
    alone = Alone(tmp_path)
    start_with(start, alone)
    for step in STEPS:
        dying = Alone(tmp_path, (str(DYING), step, str(PROGRAM)))
        assert dying.run("ledger").returncode == 0


@pytest.mark.parametrize("sources", [("one.csv", "two.csv"), ("one.csv", "one.csv")], ids=str)
def test_two_processes_on_one_file(start: Start, tmp_path: Path, sources: tuple[str, str]) -> None:
    alone = Alone(tmp_path)
    server = start_with(start, alone)
    for seed, source in enumerate(sorted(set(sources))):
        text = "".join(lines(LINES // len(set(sources)), seed))
        (tmp_path / source).write_text(text)
    both = [alone.launch("run", "--source", source) for source in sources]
    for process in both:
        out, err = process.communicate(timeout=120)
        assert process.returncode == 0, err
        assert out
    state, log = alone.state, log_of(server)
    assert {entry.number for entry in log} == set(range(1, len(log) + 1))
    assert len(state["ledger"]) == state["number"] == len(log)
    assert {entry["answer"] for entry in state["ledger"]} <= {"applied", "duplicate"}
    taken = sum(place[0] for place in state["sources"].values())
    assert taken - alone.buffered >= BATCH * len(log), "a check-in takes three or more"
    assert len(log) >= LINES // BATCH - 4


def test_one_leaves_while_the_other_runs(start: Start, tmp_path: Path) -> None:
    alone = Alone(tmp_path)
    start_with(start, alone)
    running = alone.launch("run", "--source", "-")
    assert running.stdin is not None
    running.stdin.write(lines(1)[0])
    running.stdin.flush()
    while alone.buffered == 0:
        assert running.poll() is None
    assert alone.run("leave").returncode == 0
    _, err = running.communicate(lines(1)[0], timeout=60)
    assert running.returncode == 1
    assert err == "another process has left the task with this file.\n"
    assert alone.buffered == 0


def test_another_certificate_gets_nothing(start: Start, tmp_path: Path) -> None:
    """A letter that waits goes to the server that was joined, or nowhere; it is not lost."""
    alone = Alone(tmp_path)
    server = start(make_task(privacy__mechanism="direction"), tls="self-signed")
    link = f"{server.url}/join/activity"
    assert alone.join(link, "--fingerprint", server.fingerprint).returncode == 0
    server.fail_writes.touch()
    assert alone.feed(*lines(3)).returncode == 1
    server.fail_writes.unlink()
    pinned = alone.state
    alone.remember(pinned | {"fingerprint": "0" * 64})
    refused = alone.feed()
    assert refused.returncode == 1
    assert refused.stderr.endswith("Do not go on.\n")
    assert (log_of(server), alone.state["outbox"]) == ([], pinned["outbox"])
    alone.remember(pinned)
    assert alone.feed().returncode == 0
    assert [entry.id for entry in log_of(server)] == [json.loads(pinned["outbox"])["id"]]

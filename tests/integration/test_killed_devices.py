"""Kill devices at any step, or run them twice at once: nothing is lost or doubled.

What was acknowledged is used or still waits, no sample is used twice, and the ledger never says
less than what was sent. This is checked for the package, for the one-file device, and behind a
broker.
"""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from crowdml.device import Device
from crowdml.protocol import Task
from crowdml.server.database.log_entry import LogEntry
from tests.cli.command import COMMAND, environment
from tests.device import kill_after_step
from tests.device.fakes import one_hot
from tests.integration.crowd import (
    FEATURES,
    PARITY,
    Collector,
    log_of,
    numbered,
    uses,
    without_noise,
)
from tests.one_file_device.program import PROGRAM, OneFileProgram, line
from tests.support import killed_command
from tests.support.brokers import Mosquitto, broker_in
from tests.support.servers import (
    LABELS,
    PATIENCE,
    FaultyServer,
    Start,
    eventually,
    make_direction_task,
)

STEPS = ["checked out", "sanitised", "stored", "booked", "sent", "acknowledged"]
PER_ROUND = 5
BATCH = 3

both_mechanisms = pytest.mark.parametrize(
    "task", [without_noise(), numbered()], ids=["noise", "numbers"]
)


@both_mechanisms
def test_killed_at_every_step(start: Start, tmp_path: Path, task: Task) -> None:
    server = start(task)
    device = Collector(server.url, tmp_path)
    deaths = STEPS
    for i, step in enumerate(deaths):
        samples = range(i * PER_ROUND, (i + 1) * PER_ROUND)
        assert device.run(samples, kill=step) == -signal.SIGKILL, step
        assert len(device.answers()) >= len(log_of(server)), f"sent and not booked: {step}"
    # These are all steps: killing at any other name kills nothing.
    rest = range(len(deaths) * PER_ROUND, FEATURES)
    assert device.run(rest, kill="no such step") == 0

    log, waiting = log_of(server), device.waiting()
    _each_checkin_once(device, log)
    assert 0 <= waiting < BATCH
    if task.terms.mechanism_name == "direction":
        assert device.numbers() == [entry.number for entry in log], "charged is what was sent"
        assert {entry.samples for entry in log} == {None}
        return
    used, acknowledged = uses(log), device.added
    assert used.max() == 1, "a sample was used twice"
    # The sample whose `add` was killed may have been kept too, without being acknowledged.
    kept = int(used.sum()) + waiting
    assert len(acknowledged) <= kept <= len(acknowledged) + len(deaths)
    lost = [i for i in acknowledged if not used[i]]
    assert len(lost) <= waiting, "acknowledged samples are used or still waiting"


def _each_checkin_once(device: Collector, log: list[LogEntry]) -> None:
    answers = device.answers()
    assert sorted(answers) == sorted(entry.id for entry in log), "one entry for each check-in"
    assert len(answers) == len(log)
    assert set(answers.values()) <= {"applied", "duplicate"}


@both_mechanisms
def test_two_processes_on_one_file(start: Start, tmp_path: Path, task: Task) -> None:
    """Run two processes on one file, as a command line beside a daemon."""
    server = start(task)
    device = Collector(server.url, tmp_path)
    assert device.run([]) == 0, "join first, so that both have the same identity"
    half = FEATURES // 2
    processes = [device.launch(range(half)), device.launch(range(half, FEATURES))]
    assert [process.wait(PATIENCE) for process in processes] == [0, 0]

    log = log_of(server)
    _each_checkin_once(device, log)
    assert sorted(device.added) == list(range(FEATURES))
    if task.terms.mechanism_name == "direction":
        numbers = sorted(entry.number or 0 for entry in log)
        assert numbers == device.numbers() == list(range(1, len(log) + 1))
        assert len(log) > 5
        return
    used = uses(log)
    assert used.max() == 1, "a sample was used twice"
    assert int(used.sum()) + device.waiting() == FEATURES, "a sample was lost"
    assert min(entry.samples or 0 for entry in log) >= BATCH


# The one-file device

KILL_AFTER_STEP = Path(kill_after_step.__file__)
LINES = 60


def lines(n: int, seed: int = 0) -> list[str]:
    rng = np.random.default_rng(seed)
    return [line(rng.normal(size=4), rng.choice(LABELS)) for _ in range(n)]


@pytest.fixture
def program(tmp_path: Path) -> OneFileProgram:
    return OneFileProgram(tmp_path)


@pytest.fixture
def joined(start: Start, program: OneFileProgram) -> FaultyServer:
    server = start(make_direction_task(privacy__epsilon=30.0, collection__checkins=30))
    assert program.join(f"{server.url}/join/activity").returncode == 0
    return server


def test_the_one_file_killed_after_every_step(
    joined: FaultyServer, program: OneFileProgram
) -> None:
    ids: list[str] = []
    for i, step in enumerate(kill_after_step.STEPS):
        deadly = OneFileProgram(program.folder, (str(KILL_AFTER_STEP), step, str(PROGRAM)))
        assert deadly.run("ledger").returncode == 0, "only a step kills"
        assert deadly.feed(*lines(4, seed=i)).returncode == -signal.SIGKILL
        state, n_sent = program.state, len(log_of(joined))
        _look(step, state, program.buffered, n_sent)
        ids += [json.loads(state["outbox"])["id"]] if state["outbox"] else []
        assert len(state["ledger"]) == state["number"] == n_sent + (step in ("stored", "booked"))
    done = program.feed(*lines(LINES - 4 * len(kill_after_step.STEPS), seed=99))
    assert done.returncode == 0, done.stderr
    log = _sent_once(program, joined)
    assert set(ids) <= {entry.id for entry in log}, "the same bytes were sent again"
    assert BATCH * len(log) + program.buffered == LINES, "every line counts, once"


def _look(step: str, state: Any, buffered: int, n_sent: int) -> None:
    """Check that nothing was sent before the commit, and that no sample is left after it."""
    assert bool(state["outbox"]) == (step in ("stored", "booked", "sent"))
    assert (buffered >= BATCH) == (step in ("checked out", "written"))
    if step == "sent":
        assert state["ledger"][-1]["answer"] == "waiting"
        assert n_sent == state["number"], "it has arrived, and the device does not know"


def _sent_once(program: OneFileProgram, server: FaultyServer) -> list[LogEntry]:
    state, log = program.state, log_of(server)
    assert {entry.number for entry in log} == set(range(1, len(log) + 1))
    assert len(state["ledger"]) == state["number"] == len(log), "one cost for each check-in"
    assert {entry["answer"] for entry in state["ledger"]} <= {"applied", "duplicate"}
    return log


@pytest.mark.parametrize("sources", [("one.csv", "two.csv"), ("one.csv", "one.csv")], ids=str)
def test_the_one_file_run_twice_at_once(
    joined: FaultyServer, program: OneFileProgram, sources: tuple[str, str]
) -> None:
    for seed, source in enumerate(sorted(set(sources))):
        text = "".join(lines(LINES // len(set(sources)), seed))
        (program.folder / source).write_text(text)
    both = [program.launch("run", "--source", source, "--yes") for source in sources]
    for process in both:
        out, err = process.communicate(timeout=4 * PATIENCE)
        assert process.returncode == 0, err
        assert out
    log = _sent_once(program, joined)
    taken = sum(place[0] for place in program.state["sources"].values())
    assert taken - program.buffered >= BATCH * len(log), "a check-in takes three or more"
    assert len(log) >= LINES // BATCH - 4


def test_one_leaves_while_the_other_runs(joined: FaultyServer, program: OneFileProgram) -> None:
    running = program.launch("run", "--source", "-", "--yes")
    assert running.stdin is not None
    running.stdin.write(lines(1)[0])
    running.stdin.flush()
    assert eventually(lambda: program.buffered > 0)
    assert program.run("leave").returncode == 0
    _, err = running.communicate(lines(1)[0], timeout=PATIENCE)
    assert running.returncode == 1
    assert err == "another process has left the task with this file.\n"
    assert program.buffered == 0


def test_another_certificate_gets_nothing(start: Start, program: OneFileProgram) -> None:
    """Check that a waiting message goes only to the server that was joined, and is not lost."""
    server = start(make_direction_task(), tls="self-signed")
    link = f"{server.url}/join/activity"
    assert program.join(link, "--fingerprint", server.fingerprint).returncode == 0
    server.fail_writes.touch()
    assert program.feed(*lines(3)).returncode == 5
    server.fail_writes.unlink()
    pinned = program.state
    program.remember(pinned | {"fingerprint": "0" * 64})
    rejected = program.feed()
    assert rejected.returncode == 1
    assert rejected.stderr.endswith("Do not go on.\n")
    assert (log_of(server), program.state["outbox"]) == ([], pinned["outbox"])
    program.remember(pinned)
    assert program.feed().returncode == 0
    assert [entry.id for entry in log_of(server)] == [json.loads(pinned["outbox"])["id"]]


# Behind a broker


@pytest.fixture
def mosquitto(tmp_path: Path) -> Iterator[Mosquitto]:
    with broker_in(tmp_path / "broker") as broker:
        yield broker


class Listening:
    """Run `crowdml device run` on a topic, again and again."""

    def __init__(self, server: FaultyServer, mosquitto: Mosquitto, folder: Path) -> None:
        self.server, self.mosquitto, self.folder = server, mosquitto, folder
        self.device = Collector(server.url, folder)
        Device.join(server.url, "activity", file=self.device.file, accept_no_privacy=True).close()

    def start(self, *before: str) -> "subprocess.Popen[str]":
        options = ["--file", str(self.device.file), "--source", self.mosquitto.source, "--yes"]
        return subprocess.Popen(
            [*(before or COMMAND), "device", "run", *options],
            env=environment(self.folder),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def dies(self, step: str, times: int) -> None:
        process = self.start(sys.executable, "-P", killed_command.__file__, step, str(times))
        process.communicate(timeout=PATIENCE)
        assert process.returncode == -signal.SIGKILL

    def subscribed(self) -> "subprocess.Popen[str]":
        """Start one: from now on the broker keeps what it has not acknowledged."""
        before = self.mosquitto.n_subscriptions()
        process = self.start()
        assert eventually(lambda: self.mosquitto.n_subscriptions() > before)
        return process

    def stop(self, process: "subprocess.Popen[str]") -> str:
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0, err
        return out

    def publish(self, *samples: int) -> None:
        messages = [{"x": one_hot(i, FEATURES).tolist(), "y": PARITY[i % 2]} for i in samples]
        self.mosquitto.publish(*map(json.dumps, messages))

    def has_used(self, n: int) -> bool:
        return sum(entry.samples or 0 for entry in log_of(self.server)) == n


@pytest.fixture
def listening(start: Start, mosquitto: Mosquitto, tmp_path: Path) -> Listening:
    return Listening(start(without_noise()), mosquitto, tmp_path)


def test_a_listening_device_killed_at_every_step(listening: Listening) -> None:
    listening.stop(listening.subscribed())
    listening.publish(*range(FEATURES))
    for i, step in enumerate(killed_command.STEPS):
        listening.dies(step, times=1 + i % 3)
    process = listening.start()
    assert eventually(lambda: listening.has_used(FEATURES)), "a sample was lost"
    listening.stop(process)
    assert uses(log_of(listening.server)).tolist() == [1] * FEATURES, "a sample was used twice"
    assert listening.device.waiting() == 0
    assert set(listening.device.answers().values()) <= {"applied", "duplicate"}


def _has_subscriptions(mosquitto: Mosquitto, n: int) -> bool:
    return mosquitto.n_subscriptions() >= n


def test_a_broker_killed_under_a_running_device(listening: Listening) -> None:
    mosquitto, process = listening.mosquitto, listening.subscribed()
    listening.publish(*range(6))
    assert eventually(lambda: listening.has_used(6))
    for number, used in ((signal.SIGKILL, 6), (signal.SIGTERM, 12)):
        before = mosquitto.n_subscriptions()
        mosquitto.stop(number)
        mosquitto.start()
        assert eventually(partial(_has_subscriptions, mosquitto, before + 1))
        listening.publish(*range(used, used + 6))
        assert eventually(partial(listening.has_used, used + 6))
    listening.publish(18)
    assert eventually(lambda: listening.device.waiting() == 1)
    out = listening.stop(process)
    assert out == "19 samples kept, 6 check-ins answered, 1 sample in the buffer\n"
    used_once = [1] * 18 + [0] * (FEATURES - 18)
    assert uses(log_of(listening.server)).tolist() == used_once
